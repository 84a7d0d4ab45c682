import os

import requests

with open("photo.png", "rb") as photo:
    response = requests.post(
        "https://api.remove.bg/v1.0/removebg",
        files={"image_file": photo},
        data={"size": "full"},
        headers={"X-Api-Key": os.environ["REMOVE_BG_API_KEY"]},
        timeout=60,
    )
response.raise_for_status()
with open("no-bg.png", "wb") as out:
    out.write(response.content)
