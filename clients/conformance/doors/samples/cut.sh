#!/bin/sh
set -eu
curl --silent --show-error --fail -H "X-Api-Key: $REMOVE_BG_API_KEY" -F 'image_file=@photo.png' -F 'size=full' \
  https://api.remove.bg/v1.0/removebg -o no-bg.png
