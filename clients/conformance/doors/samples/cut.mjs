import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'

const form = new FormData()
form.append('size', 'full')
form.append('image_file', await openAsBlob('photo.png'), 'photo.png')
const response = await fetch('https://api.remove.bg/v1.0/removebg', {
  method: 'POST',
  headers: { 'X-Api-Key': process.env.REMOVE_BG_API_KEY },
  body: form,
})
if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
await writeFile('no-bg.png', Buffer.from(await response.arrayBuffer()))
