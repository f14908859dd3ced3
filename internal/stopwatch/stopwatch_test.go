package stopwatch

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestATimeThatIsWaitedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lap := Start(t)
		time.Sleep(3 * time.Second)
		if took, clock := lap.Took(), lap.Clock(); took != 3*time.Second || clock != took {
			t.Errorf("it took %s, and %s by the clock", took, clock)
		}
		if took := lap.End(); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestWhatTheMachineWithholdsDoesNotCount holds the goroutine up as a busy machine would: at its lock.
func TestWhatTheMachineWithholdsDoesNotCount(t *testing.T) {
	lap := Start(t)
	lap.watch.mu.Lock()
	time.Sleep(300 * time.Millisecond)
	lap.watch.mu.Unlock()
	if took, clock := lap.End(), lap.Clock(); clock < 300*time.Millisecond || took > clock-250*time.Millisecond {
		t.Errorf("it took %s, and %s by the clock", took, clock)
	}
}

func TestNothingIsLeftOfAWatch(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := New(t)
	if took := w.Lap().Took(); took < 0 {
		t.Errorf("it took %s", took)
	}
	w.Stop()
	w.Stop()
}
