// Lints the OpenAPI document by the rules of docs/generate/contract.yaml; part of `make check`. Runs without a network:
// the document has no external references, and the linter's telemetry is off.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { buildDocument, buildServedDocument } from './build-document.ts'
import { findMissingExamples } from './missing-examples.ts'

const dir = mkdtempSync(join(tmpdir(), 'matte-contract-'))
try {
  const file = join(dir, 'openapi.json')
  writeFileSync(file, JSON.stringify(await buildServedDocument(), null, 2))
  const args = ['lint', file, '--config', join(rootDir, 'docs/generate/contract.yaml'), '--format', 'stylish']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { status, error } = spawnSync('redocly', args, { stdio: 'inherit', env })
  if (error) throw new Error(`cannot run the linter: ${error.message}`)
  process.exitCode = status ?? 1
} finally {
  rmSync(dir, { recursive: true, force: true })
}

// The linter checks existing examples; this finds missing ones.
for (const place of findMissingExamples(await buildDocument())) {
  process.stderr.write(`${place} has no example: add \`examples\` to its schema.\n`)
  process.exitCode = 1
}
