// Runs a task from inside the release, because its store has cluster addresses.
import { runOrThrow } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import type { Release } from './release.ts'

const askScript = `
const [key, modelVersion] = process.argv.slice(1)
const call = async (method, path, body) => {
  const headers = { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) }
  const url = 'http://127.0.0.1:8080/api/v1/open/developer' + path
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!answer.ok) throw new Error(method + ' ' + path + ': ' + answer.status + ' ' + (await answer.text()))
  return (await answer.json()).data
}
const run = async () => {
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  const photo = Buffer.from(Buffer.concat(chunks).toString(), 'base64')
  const file = { fileName: 'photo.jpg', contentType: 'image/jpeg', fileSize: photo.length }
  const grant = await call('POST', '/uploads/presign', file)
  await fetch(grant.uploadUrl, { method: grant.method, headers: grant.headers, body: photo })
  const { id } = await call('POST', '/tasks', { imageUrl: grant.objectKey, modelVersion })
  process.stdout.write(id)
}
run()
`

const readScript = `
const [key, id] = process.argv.slice(1)
const run = async () => {
  const url = 'http://127.0.0.1:8080/api/v1/open/developer/tasks/' + id
  const task = (await (await fetch(url, { headers: { 'x-api-key': key } })).json()).data
  const result = task.resultUrl ? Buffer.from(await (await fetch(task.resultUrl)).arrayBuffer()) : Buffer.alloc(0)
  process.stdout.write(JSON.stringify({ task, png: result.toString('base64') }))
}
run()
`

type CutOut = {
  readonly task: { readonly status: string; readonly modelVersion: string; readonly completedAt: string | null }
  readonly png: string
}

/** The ended task, and its file in base64; empty without a result. */
export async function cutOutInside(
  { namespace }: Release,
  { apiKey, modelVersion, photo }: { readonly apiKey: string; readonly modelVersion: string; readonly photo: Buffer },
): Promise<CutOut> {
  const node = (script: string, args: readonly string[], input: string): Promise<string> =>
    runOrThrow(
      'kubectl',
      ['-n', namespace, 'exec', '-i', 'deploy/matte-api', '--', 'node', '-e', script, ...args],
      input,
    )
  const id = await node(askScript, [apiKey, modelVersion], photo.toString('base64'))
  const ended = async (): Promise<CutOut | undefined> => {
    const seen = JSON.parse(await node(readScript, [apiKey, id], '')) as CutOut
    return seen.task.completedAt === null ? undefined : seen
  }
  return await until(`task ${id} has ended`, ended, { timeoutMs: 240_000, everyMs: 200 })
}
