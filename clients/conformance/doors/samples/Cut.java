import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

class Cut {
  public static void main(String[] args) throws Exception {
    var boundary = "photo-and-fields";
    var body = new ByteArrayOutputStream();
    var head = "--%1$s\r\nContent-Disposition: form-data; name=\"size\"\r\n\r\nfull\r\n"
        + "--%1$s\r\nContent-Disposition: form-data; name=\"image_file\"; filename=\"photo.png\"\r\n\r\n";
    body.write(head.formatted(boundary).getBytes(StandardCharsets.UTF_8));
    body.write(Files.readAllBytes(Path.of("photo.png")));
    body.write(("\r\n--" + boundary + "--\r\n").getBytes(StandardCharsets.UTF_8));
    var request = HttpRequest.newBuilder(URI.create("https://api.remove.bg/v1.0/removebg"))
        .header("X-Api-Key", System.getenv("REMOVE_BG_API_KEY"))
        .header("Content-Type", "multipart/form-data; boundary=" + boundary)
        .POST(HttpRequest.BodyPublishers.ofByteArray(body.toByteArray()))
        .build();
    var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (response.statusCode() != 200) {
      throw new IllegalStateException(response.statusCode() + ": " + new String(response.body()));
    }
    Files.write(Path.of("no-bg.png"), response.body());
  }
}
