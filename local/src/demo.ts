// `make demo`: cuts out the bundled photos through the documented API and writes the PNGs and a contact sheet to
// `.local/demo/`.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { extname, join, parse } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { contactSheet, type SheetRow } from './contact-sheet.ts'

const contentTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
}

const waitMs = 120_000

const { values } = parseArgs({
  options: {
    photos: { type: 'string', default: 'test/fixtures/photos' },
    out: { type: 'string', default: '.local/demo' },
  },
})

type Task = {
  id: string
  status: string
  resultUrl: string | null
  createdAt: string
  completedAt: string | null
  durationMs?: number
  failure?: { reason: string; message: string } | null
}
type Grant = { uploadUrl: string; objectKey: string; method: string; headers: Record<string, string> }

const { MATTE_BASE_URL: baseUrl = '', MATTE_API_KEY: apiKey = '' } = process.env

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${baseUrl}/open/developer${path}`, {
    method,
    headers: { 'x-api-key': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as { data?: T; error?: { code: string; message: string } }
  if (answer.data === undefined) throw new Error(`${method} ${path}: ${answer.error?.code} ${answer.error?.message}`)
  return answer.data
}

type Stages = Record<'presign' | 'upload' | 'create' | 'queued' | 'processing' | 'total' | 'download', number>

async function cutOut(fileName: string, bytes: Buffer): Promise<{ png: Buffer; stages: Stages }> {
  const contentType = contentTypes[extname(fileName).toLowerCase()] ?? ''
  const started = performance.now()
  const grant = await call<Grant>('POST', '/uploads/presign', { fileName, contentType, fileSize: bytes.length })
  const granted = performance.now()
  const upload = await fetch(grant.uploadUrl, {
    method: grant.method,
    headers: grant.headers,
    body: new Uint8Array(bytes),
  })
  if (!upload.ok) throw new Error(`upload of ${fileName}: ${upload.status} ${await upload.text()}`)
  const uploaded = performance.now()
  const { id } = await call<Task>('POST', '/tasks', { imageUrl: grant.objectKey })
  const created = performance.now()
  const task = await untilDone(id)
  if (task.status !== 'succeeded' || task.resultUrl === null) {
    throw new Error(`${fileName}: ${task.status} ${task.failure?.reason ?? ''} ${task.failure?.message ?? ''}`)
  }
  const done = performance.now()
  const png = Buffer.from(await (await fetch(task.resultUrl)).arrayBuffer())
  const total = Date.parse(task.completedAt ?? '') - Date.parse(task.createdAt)
  const processing = task.durationMs ?? 0
  const stages = {
    presign: granted - started,
    upload: uploaded - granted,
    create: created - uploaded,
    queued: total - processing,
    processing,
    total,
    download: performance.now() - done,
  }
  return { png, stages }
}

async function untilDone(id: string): Promise<Task> {
  const deadline = performance.now() + waitMs
  while (performance.now() < deadline) {
    const task = await call<Task>('GET', `/tasks/${id}`)
    if (['succeeded', 'failed', 'canceled'].includes(task.status)) return task
    await pause(50)
  }
  throw new Error(`task ${id} did not end within ${waitMs / 1000} s: see \`make logs\``)
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const columns = ['presign', 'upload', 'create', 'queued', 'processing', 'total', 'download'] as const

async function demo(): Promise<void> {
  if (baseUrl === '' || apiKey === '') {
    throw new Error('MATTE_BASE_URL or MATTE_API_KEY is not set: run `make up` first')
  }
  const names = (await readdir(values.photos)).filter((name) => extname(name).toLowerCase() in contentTypes).sort()
  // The folder also holds the lemur's expected results.
  const photos = names.filter((name) => !/-(alpha|foreground)\./.test(name))
  await mkdir(values.out, { recursive: true })
  print(`${photos.length} photos, milliseconds; total is from create to succeeded by the service's own clock`)
  print(`${'photo'.padEnd(16)}${columns.map((column) => column.padStart(11)).join('')}`)
  const rows: SheetRow[] = []
  for (const name of photos) {
    const bytes = await readFile(join(values.photos, name))
    const { png, stages } = await cutOut(name, bytes)
    await writeFile(join(values.out, `${parse(name).name}.png`), png)
    rows.push({ photo: bytes, cutOut: png })
    print(`${name.padEnd(16)}${columns.map((column) => stages[column].toFixed(0).padStart(11)).join('')}`)
  }
  await writeFile(join(values.out, 'contact-sheet.png'), await contactSheet(rows))
  print(`Cut-outs and contact-sheet.png (photo, mask, cut-out) are in ${values.out}/`)
}

try {
  await demo()
} catch (error) {
  const refused = error instanceof TypeError && error.cause !== undefined
  const message = refused ? `${baseUrl} does not answer: run \`make up\` first` : (error as Error).message
  process.stderr.write(`make demo: ${message}\n`)
  process.exitCode = 1
}
