// Command empty does nothing: what it takes to start is the floor of any Go program.
package main

func main() {}
