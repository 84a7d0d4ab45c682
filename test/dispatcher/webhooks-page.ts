// Programs made of the snippets in docs/webhooks.md. Each takes a header and a secret as arguments and a body on its
// standard input, and prints whether the request is genuine.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signatureHeaders } from '@matte/core/webhook/signature'
import { rootDir } from '@matte/local/paths'
import { expect, it } from 'vitest'
import { reportSkip } from '../support/report/skips.ts'

export type Language = {
  /** Word after the fence of its block on the page. */
  readonly fence: string
  /** File of the snippet, with text to put before it. */
  readonly snippet: { readonly file: string; readonly before?: string }
  /** Files that call it. */
  readonly files: Readonly<Record<string, string>>
  readonly build?: readonly string[]
  readonly run: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Exits with 0 if the language, and the client that the snippet uses, are installed. */
  readonly probe: readonly string[]
}

function snippetOf(fence: string): string {
  const page = readFileSync(join(rootDir, 'docs/webhooks.md'), 'utf8')
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, word]) => word === fence)
  const [, , text] = blocks[0] ?? []
  if (text === undefined || blocks.length > 1) throw new Error(`the page has ${blocks.length} blocks of ${fence}`)
  return text
}

/** Runs a command of the language in its folder; throws its error output. */
function execute({ env }: Language, [command = '', ...args]: readonly string[], cwd: string, input = ''): string {
  const options = { cwd, input, encoding: 'utf8', env: { ...process.env, ...env } } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  if (error !== undefined || status !== 0) throw error ?? new Error(`${command} failed: ${stderr}`)
  return stdout.trim()
}

function isMissing(language: Language): boolean {
  try {
    execute(language, language.probe, rootDir)
    return false
  } catch {
    return true
  }
}

function writeProgram(language: Language): string {
  const { fence, snippet, files, build } = language
  const dir = join(mkdtempSync(join(tmpdir(), 'matte-webhook-')), fence)
  mkdirSync(dir)
  symlinkSync(join(rootDir, 'node_modules'), join(dir, 'node_modules'))
  writeFileSync(join(dir, snippet.file), `${snippet.before ?? ''}${snippetOf(fence)}`)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  if (build) execute(language, build, dir)
  return dir
}

const secret = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ='
const otherSecret = 'whsec_b3RoZXItb3RoZXItb3RoZXItb3RoZXItMTIzNDU2Nzg='
const body = '{"event":"task.succeeded","task_id":"0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1","message":"Fertig – schön."}'
const id = '1c4b5f0e-6a53-4c6e-8a0e-2f4f7a1f9a77'

/** As the dispatcher signs. */
const sign = (ageSeconds: number, keys: { secret: string; previousSecret?: string } = { secret }): string =>
  signatureHeaders({ ...keys, id, timestamp: Math.floor(Date.now() / 1_000) - ageSeconds, body })[
    'X-Service-Signature'
  ] ?? ''

type Case = { readonly header: () => string; readonly body?: string; readonly isGenuine?: true }

const cases: Readonly<Record<string, Case>> = {
  'accepts a signature of the service': { header: () => sign(0), isGenuine: true },
  'accepts one of some minutes ago': { header: () => sign(200), isGenuine: true },
  'accepts the previous secret during a rotation': {
    header: () => sign(0, { secret: otherSecret, previousSecret: secret }),
    isGenuine: true,
  },
  'refuses a changed body': { header: () => sign(0), body: body.replace('Fertig', 'fertig') },
  'refuses a body with an added byte': { header: () => sign(0), body: `${body}\n` },
  'refuses an old signature': { header: () => sign(600) },
  'refuses a signature of the future': { header: () => sign(-600) },
  'refuses an old signature with a new time': {
    header: () => sign(600).replace(/t=\d+/, /t=\d+/.exec(sign(0))?.[0] ?? ''),
  },
  'refuses the signature of another secret': { header: () => sign(0, { secret: otherSecret }) },
  'refuses two pairs': { header: () => `${sign(0)},v1=${'0'.repeat(64)}` },
  'refuses a short signature': { header: () => sign(0).slice(0, -2) },
  'refuses a missing header': { header: () => '' },
}

/** Tests of a language; skipped where its tools are missing. */
export function testLanguage(name: string, language: Language): void {
  const missing = isMissing(language)
  if (missing)
    reportSkip({ matching: name, reason: `the tools of docs/webhooks.md's ${language.fence} are not installed` })
  let dir: string | undefined
  for (const [what, { header, body: sent = body, isGenuine }] of Object.entries(cases)) {
    it.skipIf(missing)(`${name} ${what}`, () => {
      dir ??= writeProgram(language)
      const [command = '', ...args] = language.run
      const answer = execute(language, [command, ...args, header(), secret], dir, sent)
      expect(answer).toBe(isGenuine ? 'genuine' : 'forged')
    })
  }
}
