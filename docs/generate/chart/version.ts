// Writes the version of the root package.json into the chart's files.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

const readVersion = (): string => {
  const manifest = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as { readonly version: string }
  return manifest.version
}

/** `version` and `appVersion` of Chart.yaml. @throws Error if a line is missing */
export function writeChartVersion(before: string, version = readVersion()): string {
  const withVersion = replaceOnce(before, /^version: .*$/gm, `version: ${version}`)
  return replaceOnce(withVersion, /^appVersion: .*$/gm, `appVersion: ${version}`)
}

/** The tag of `localhost/matte/triton` in values.yaml. @throws Error if the image is missing */
export function writeImageVersion(before: string, version = readVersion()): string {
  return replaceOnce(before, /(?<=^ *image: localhost\/matte\/triton):.*$/gm, `:${version}`)
}

function replaceOnce(text: string, pattern: RegExp, replacement: string): string {
  const found = text.match(pattern)?.length ?? 0
  if (found !== 1) throw new Error(`${pattern} matches ${found} lines, not 1`)
  return text.replace(pattern, replacement)
}
