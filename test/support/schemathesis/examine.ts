// One run of Schemathesis against a live API, with a fixed number of examples and a seed, so it can be repeated.
import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ErrorCode } from '@matte/core/error'
import { writeOut } from '@matte/generate/resolve-document'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { inject } from 'vitest'
import { installSchemathesis } from './install-schemathesis.ts'

const run = promisify(execFile)
const settings = join(rootDir, 'test/support/schemathesis')
const seed = 20_261_121
/** Bound against hanging, for each run. */
export const timeoutMs = 170_000

export type Schema = { [member: string]: unknown; properties?: Record<string, Schema>; items?: Schema }
type Operation = {
  parameters?: { name: string; schema: Schema; example?: unknown }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}
export type Document = { paths: Record<string, Record<string, Operation>> }

type Wanted = {
  readonly url: string
  /** Prefix of the paths to test. */
  readonly document: Document
  /** Such as `X-API-Key: …`. */
  readonly header?: string | undefined
  readonly phases: string
  readonly examples: number
  readonly mode?: 'positive' | 'all'
  /** Codes that may reject valid input. */
  readonly refusals: readonly ErrorCode[]
  /** No request may succeed. */
  readonly refusesAll?: boolean
}

/** Headers whose examples would delay requests, reject unknown fields, or repeat requests. */
const steering: readonly string[] = ['Prefer', 'Idempotency-Key']

/** A document of the service itself, limited to the wanted paths. */
export async function readDocument(
  url: string,
  wants: (path: string) => boolean,
  path = '/api/v1/openapi.json',
): Promise<Document> {
  const served = (await (await fetch(url + path)).json()) as object
  const document = writeOut(served) as Document
  for (const { parameters = [] } of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    for (const parameter of parameters) if (steering.includes(parameter.name)) delete parameter.example
  }
  return { ...document, paths: Object.fromEntries(Object.entries(document.paths).filter(([path]) => wants(path))) }
}

/** Runs it to its end; returns the number of requests. @throws Error with the report if it finds a problem */
export async function examine({ url, document, header, ...wanted }: Wanted): Promise<number> {
  const { phases, examples, mode = 'all', refusals, refusesAll = false } = wanted
  const program = await installSchemathesis(sayToTerminal)
  const dir = mkdtempSync(join(inject('runDir'), 'schemathesis-'))
  const file = join(dir, 'openapi.json')
  writeFileSync(file, JSON.stringify(document))
  const options = [
    ...['--config-file', join(settings, 'schemathesis.toml'), 'run', file, '--url', url],
    ...(header === undefined ? [] : ['--header', header]),
    ...['--phases', phases, '--max-examples', String(examples), '--mode', mode, '--seed', String(seed)],
    ...['--workers', '1', '--generation-database', 'none', '--suppress-health-check', 'all', '--no-color'],
  ]
  const env = {
    ...process.env,
    ...program.env,
    SCHEMATHESIS_HOOKS: join(settings, 'hooks.py'),
    EXPECTED_CODES: refusals.join(' '),
    MAY_SUCCEED: String(!refusesAll),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const { stdout } = await run(program.command, [...program.args, ...options], {
    cwd: dir,
    env,
    timeout: timeoutMs,
    maxBuffer: 64 * 1_048_576,
  }).catch((error: { stdout?: string; stderr?: string; message: string }) => {
    throw new Error(`Schemathesis found something:\n${error.stdout || error.stderr || error.message}`)
  })
  return Number(/(\d+) generated/.exec(stdout)?.[1] ?? 0)
}
