package main

import (
	"bytes"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
)

func main() {
	photo, err := os.ReadFile("photo.png")
	if err != nil {
		log.Fatal(err)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("size", "full")
	part, _ := form.CreateFormFile("image_file", "photo.png")
	_, _ = part.Write(photo)
	_ = form.Close()
	request, _ := http.NewRequest("POST", "https://api.remove.bg/v1.0/removebg", &body)
	request.Header.Set("X-Api-Key", os.Getenv("REMOVE_BG_API_KEY"))
	request.Header.Set("Content-Type", form.FormDataContentType())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	image, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		log.Fatal(response.Status, err)
	}
	if err := os.WriteFile("no-bg.png", image, 0o644); err != nil {
		log.Fatal(err)
	}
}
