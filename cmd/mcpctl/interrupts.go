package main

import "sync"

// interrupts lets a command take Ctrl-C for itself, which ends the run otherwise. SIGTERM and SIGHUP end it in any case.
type interrupts struct {
	mu sync.Mutex
	// taker is told of each. It reports whether everything is to end at once.
	taker func() (now bool)
}

// give has all interrupts told to taker from now on; nil takes none.
func (i *interrupts) give(taker func() (now bool)) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taker = taker
}

// take tells of an interrupt. It is nobody's if mine is false; then now says whether everything is to end at once.
func (i *interrupts) take() (mine, now bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.taker == nil {
		return false, false
	}
	now = i.taker()
	return !now, now
}
