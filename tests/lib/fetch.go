// fetch URL: prints what it says; the client of Go's own library, with Go's own resolver.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	r, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
	if r.StatusCode != 200 {
		os.Exit(1)
	}
}
