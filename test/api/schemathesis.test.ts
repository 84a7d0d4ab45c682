// Schemathesis against the live service, once for each kind of credential: what the service's own document allows and
// forbids is sent, singly and in sequences, and no answer may be a 5xx, have a status, code or header that is not
// documented, or break its schema. Bounded by the number of examples, and seeded, so that a run can be repeated.
import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { revokeApiKey } from '@matte/core/workspace/api-key-queries'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { sql } from 'kysely'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { installSchemathesis, type Program } from '../support/schemathesis.ts'
import { type CallerOptions, picture, succeed, useApi } from './given.ts'

const world = useApi()
const run = promisify(execFile)

const seed = 20_261_121
/** A bound against hanging, for each run; together they take about a minute and a half on two cores. */
const timeoutMs = 170_000

type Schema = { [member: string]: unknown; properties?: Record<string, Schema>; items?: Schema }
type Document = {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
}
type Wanted = { readonly phases: string; readonly examples: number; readonly mode?: 'positive' | 'all' }

let program: Program
let document: Document
beforeAll(async () => {
  program = await installSchemathesis(sayToTerminal)
  document = (await (await fetch(`${world.api.url}/api/v1/openapi.json`)).json()) as Document
})

/** Runs it to its end; its report is the error when it finds anything. Answers how many requests it made up. */
async function examine(apiKey: string | undefined, { phases, examples, mode = 'all' }: Wanted, of = document) {
  const dir = mkdtempSync(join(inject('runDir'), 'schemathesis-'))
  const file = join(dir, 'openapi.json')
  writeFileSync(file, JSON.stringify(of))
  const options = [
    ...[
      '--config-file',
      join(rootDir, 'test/support/schemathesis/schemathesis.toml'),
      'run',
      file,
      '--url',
      world.api.url,
    ],
    ...(apiKey === undefined ? [] : ['--header', `X-API-Key: ${apiKey}`]),
    ...['--phases', phases, '--max-examples', String(examples), '--mode', mode, '--seed', String(seed)],
    ...['--workers', '1', '--generation-database', 'none', '--suppress-health-check', 'all', '--no-color'],
  ]
  const { stdout } = await run(program.command, [...program.args, ...options], {
    cwd: dir,
    env: { ...process.env, ...program.env },
    timeout: timeoutMs,
    maxBuffer: 64 * 1_048_576,
  }).catch((error: { stdout?: string; stderr?: string; message: string }) => {
    throw new Error(`Schemathesis found something:\n${error.stdout || error.stderr || error.message}`)
  })
  return Number(/(\d+) generated/.exec(stdout)?.[1] ?? 0)
}

/** The document with texts that mean something in place of any: what is made up from it gets past the first checks. */
function withRealValues({ imageUrl }: { imageUrl: string }): Document {
  const real: Record<string, Schema> = {
    imageUrl: { type: 'string', enum: [imageUrl] },
    imageUrls: { type: 'array', items: { type: 'string', enum: [imageUrl] }, minItems: 1, maxItems: 3 },
    modelVersion: { type: ['string', 'null'], enum: ['service-v2', null] },
    callbackUrl: { type: ['string', 'null'], enum: ['https://93.184.216.34/callback', null] },
    targetUrl: { type: 'string', enum: ['https://93.184.216.34/hook'] },
    output: { enum: [null, {}, { format: 'webp', crop: true }, { format: 'jpeg', background: '#ffffff' }] },
    contentType: { type: 'string', enum: ['image/png', 'image/jpeg', 'image/webp'] },
    fileSize: { type: ['integer', 'null'], minimum: 1, maximum: 10_000_000 },
  }
  const copy = structuredClone(document)
  for (const operation of Object.values(copy.paths).flatMap((methods) => Object.values(methods))) {
    const schema = operation.requestBody?.content['application/json']?.schema
    for (const name of Object.keys(schema?.properties ?? {})) {
      const value = real[name]
      if (schema?.properties && value) schema.properties[name] = value
    }
  }
  return copy
}

describe('Schemathesis finds nothing', () => {
  it('with a key that may do everything', { timeout: timeoutMs }, async () => {
    const { apiKey } = await world.caller({ plan: 'internal' })
    const made = await examine(apiKey, { phases: 'examples,coverage,fuzzing', examples: 25 })
    expect(made).toBeGreaterThan(1_000)
  })

  it('in sequences of requests that hit upon real things', { timeout: timeoutMs }, async () => {
    const { apiKey, client, workspaceId } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await picture())
    await succeed(world.db, (await client.createTask({ imageUrl })).id)
    const wanted = { phases: 'examples,stateful', examples: 60, mode: 'positive' } as const
    expect(await examine(apiKey, wanted, withRealValues({ imageUrl }))).toBeGreaterThan(100)
    // It did get somewhere: tasks, batches and endpoints are there that nobody else made.
    const { rows } = await sql<{ tasks: number; batches: number; endpoints: number }>`
      select (select count(*) from task where workspace_id = ${workspaceId}) as tasks,
             (select count(distinct batch_id) from task where workspace_id = ${workspaceId}) as batches,
             (select count(*) from webhook_endpoint where workspace_id = ${workspaceId}) as endpoints`.execute(world.db)
    expect(rows[0]?.tasks).toBeGreaterThan(5)
    expect(rows[0]?.batches).toBeGreaterThan(0)
    expect(rows[0]?.endpoints).toBeGreaterThan(5)
  })

  it('on a plan whose limits are soon reached', { timeout: timeoutMs }, async () => {
    const { apiKey, client } = await world.caller({ plan: 'pro', credits: 3 })
    const imageUrl = await client.upload(await picture())
    const wanted = { phases: 'coverage,fuzzing', examples: 5, mode: 'positive' } as const
    expect(await examine(apiKey, wanted, withRealValues({ imageUrl }))).toBeGreaterThan(100)
  })

  const key = async (options: CallerOptions) => (await world.caller({ plan: 'internal', ...options })).apiKey
  it.each<[string, () => Promise<string | undefined>]>([
    ['no key', async () => undefined],
    ['a key that nobody has', async () => generateApiKey().key],
    ['a key of another form', async () => 'service_live_short'],
    ['a key without a scope', () => key({ scopes: [] })],
    ['a key that is past its end', () => key({ expiresAt: new Date(Date.now() - 1_000) })],
    ['a key on the Free plan', () => key({ plan: 'free' })],
    [
      'a key that was revoked',
      async () => {
        const { apiKey, apiKeyId } = await world.caller()
        await revokeApiKey(world.db, apiKeyId)
        return apiKey
      },
    ],
  ])('with %s', { timeout: timeoutMs }, async (_what, credential) => {
    expect(await examine(await credential(), { phases: 'coverage', examples: 3 })).toBeGreaterThan(300)
  })
})
