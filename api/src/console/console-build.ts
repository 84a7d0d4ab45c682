// The built console. A build that replaces it under a running API, such as by `make console`, counts from the next
// request on: the former page would name files that are gone.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readSiteFiles, type SiteFiles } from '../site/site-files.ts'

type ConsoleBuild = {
  /** Undefined before the first build. */
  readonly page: string | undefined
  readonly files: SiteFiles
}

export type CurrentBuild = () => ConsoleBuild

export function followBuilds(dir: string): CurrentBuild {
  const file = join(dir, 'index.html')
  let build: ConsoleBuild = { page: undefined, files: new Map() }
  let readMtimeMs: number | undefined
  const current = (): ConsoleBuild => {
    const mtimeMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    // Undefined also between the two moves that replace a build; the former one counts until then.
    if (mtimeMs !== undefined && mtimeMs !== readMtimeMs) {
      build = { page: readFileSync(file, 'utf8'), files: readSiteFiles(dir) }
      readMtimeMs = mtimeMs
    }
    return build
  }
  current()
  return current
}
