// `.local/env`: base URL and key of the workspace `local`, for `.` of any POSIX shell and for programs that it starts.
import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { writePrivately } from './secrets.ts'

type Access = { readonly baseUrl: string; readonly apiKey: string }

/** The key in the file; undefined without one. */
export function readEnvKey(envFile: string): string | undefined {
  return existsSync(envFile) ? parseEnv(readFileSync(envFile, 'utf8')).MATTE_API_KEY : undefined
}

export function writeEnvFile(envFile: string, { baseUrl, apiKey }: Access): void {
  writePrivately(envFile, `export MATTE_BASE_URL=${baseUrl}\nexport MATTE_API_KEY=${apiKey}\n`)
}

/** Cuts out `photo.jpg` of the current folder, in any POSIX shell. */
export const cutOutCommand = (envFile: string): string =>
  `. ${quoted(envFile)} && curl -fsS "$MATTE_BASE_URL/open/developer/cut-outs" -H "X-API-Key: $MATTE_API_KEY"` +
  ' -F file=@photo.jpg -o cut-out.png'

const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
