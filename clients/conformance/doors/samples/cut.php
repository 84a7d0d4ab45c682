<?php

$call = curl_init('https://api.remove.bg/v1.0/removebg');
curl_setopt_array($call, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_FAILONERROR => true,
    CURLOPT_HTTPHEADER => ['X-Api-Key: ' . getenv('REMOVE_BG_API_KEY')],
    CURLOPT_POSTFIELDS => ['size' => 'full', 'image_file' => new CURLFile('photo.png')],
]);
$image = curl_exec($call);
if ($image === false) {
    fwrite(STDERR, curl_error($call) . "\n");
    exit(1);
}
file_put_contents('no-bg.png', $image);
