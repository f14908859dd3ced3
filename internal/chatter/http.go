package chatter

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Handler serves the server over streamable HTTP at /mcp, and over the older HTTP with SSE at /sse.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.streamable)
	older := &streams{s: s, open: map[string]*stream{}}
	mux.HandleFunc("GET /sse", older.listen)
	mux.HandleFunc("POST /post", older.post)
	return mux
}

// standalone are messages that a client is told on the stream on which servers say what they are not asked.
const standalone = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"standalone","data":"unasked"}}`

// streamable answers one request of streamable HTTP.
func (s *Server) streamable(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		if s.Modern {
			http.Error(w, "no stream in this era", http.StatusMethodNotAllowed)
			return
		}
		s.heard("GET")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+standalone+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	case http.MethodDelete:
		s.heard("DELETE")
		return
	case http.MethodPost:
	default:
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	how := s.Answer
	if asked := r.URL.Query().Get("answer"); asked != "" {
		how = asked
	}
	if bytes.Contains(raw, []byte(`"initialize"`)) && !s.Modern {
		w.Header().Set("Mcp-Session-Id", "chatter-1")
	}
	begun := false
	s.hear(raw, r.Context().Done(), func(t text) error {
		switch how {
		case "json", "chunked":
			if begun || !bytes.Contains([]byte(t.head), []byte(`"id":`)) {
				return nil // one message only, the response
			}
			w.Header().Set("Content-Type", "application/json")
			if how == "json" && t.size >= 0 {
				w.Header().Set("Content-Length", strconv.Itoa(t.length()))
			}
			begun = true
			return t.writeTo(w)
		}
		if !begun {
			w.Header().Set("Content-Type", "text/event-stream")
			begun = true
		}
		return event(w, t, how == "lines")
	})
	switch {
	case r.Context().Err() != nil:
		s.heard("closed")
	case !begun:
		w.WriteHeader(http.StatusAccepted)
	}
}

// event writes a message as an event. JSON may span lines between the values of an array.
func event(w http.ResponseWriter, t text, lines bool) error {
	if lines && t.size != 0 && t.unit[0] == ',' {
		t.unit = "\ndata: " + t.unit
		t.size = t.size / (len(t.unit) - len("\ndata: ")) * len(t.unit)
	}
	t.head = "data: " + t.head
	t.tail += "\n\n"
	if err := t.writeTo(w); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

func (s *Server) heard(what string) {
	if s.Heard != nil {
		s.Heard(what)
	}
}

// streams are the open streams of the older transport.
type streams struct {
	s *Server

	mu   sync.Mutex
	last int
	open map[string]*stream
}

// stream is one of them.
type stream struct {
	mu sync.Mutex
	w  http.ResponseWriter
	// done is closed when the client has closed it.
	done <-chan struct{}
	// all are the requests that are being answered on it.
	all sync.WaitGroup
}

func (x *streams) listen(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.last++
	id := strconv.Itoa(x.last)
	st := &stream{w: w, done: r.Context().Done()}
	x.open[id] = st
	x.mu.Unlock()
	st.mu.Lock() // the client may post before the flush is over
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "event: endpoint\ndata: /post?stream=%s\n\n", id)
	_ = http.NewResponseController(w).Flush()
	st.mu.Unlock()
	<-st.done
	x.mu.Lock()
	delete(x.open, id)
	x.mu.Unlock()
	st.all.Wait()
}

func (x *streams) post(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	st := x.open[r.URL.Query().Get("stream")]
	x.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	if st == nil || err != nil {
		http.Error(w, "no such stream", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	st.all.Go(func() {
		x.s.hear(raw, st.done, func(t text) error {
			st.mu.Lock()
			defer st.mu.Unlock()
			return event(st.w, t, false)
		})
	})
}
