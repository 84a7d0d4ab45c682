// Cuts out photo.png as the official program does: the client fetches a ZIP, and composite makes a PNG of it.
package main

import (
	"log"
	"os"

	"github.com/remove-bg/go/client"
	"github.com/remove-bg/go/composite"
)

func main() {
	params := map[string]string{"size": "full", "format": "zip"}
	zip, contentType, err := client.Client{Version: "test"}.RemoveFromFile("photo.png", os.Getenv("REMOVE_BG_API_KEY"), params)
	if err != nil {
		log.Fatal(err)
	}
	if contentType != "application/zip" {
		log.Fatal(contentType)
	}
	if err := os.WriteFile("no-bg.zip", zip, 0o600); err != nil {
		log.Fatal(err)
	}
	if err := composite.New().Process("no-bg.zip", "no-bg.png"); err != nil {
		log.Fatal(err)
	}
}
