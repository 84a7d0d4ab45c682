// Builds of the console in a folder of the test, as an upgrade replaces them under a running API.
import { cpSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { rootDir } from '@matte/local/paths'

const built = join(rootDir, 'api/console/dist')

export const newBuildDir = (): string => join(mkdtempSync(join(tmpdir(), 'matte-console-')), 'dist')

type Build = {
  /** Part of every name with a hash, and so of the names that the pages load. */
  readonly mark: string
  /** Parts that the build lacks. */
  readonly without?: RegExp
}

/** A build of the same sources whose parts have other names, as after a change of each. */
export function replaceBuild(dir: string, { mark, without }: Build): void {
  const next = `${dir}.next`
  cpSync(built, next, { recursive: true })
  // The variants would need another compression; the API sends the files themselves then.
  for (const path of globSync('assets/*.{br,gz}', { cwd: next })) rmSync(join(next, path))
  const names = globSync('assets/*.*', { cwd: next }).map((path) => basename(path))
  const renamed = new Map(names.map((name) => [name, name.replace(/(\.\w+)$/, `${mark}$1`)]))
  for (const path of [
    'index.html',
    ...names.filter((name) => /\.(js|css)$/.test(name)).map((name) => `assets/${name}`),
  ]) {
    const file = join(next, path)
    let text = readFileSync(file, 'utf8')
    for (const [name, other] of renamed) text = text.replaceAll(name, other)
    writeFileSync(file, text)
  }
  for (const [name, other] of renamed) {
    if (without?.test(name)) rmSync(join(next, 'assets', name))
    else renameSync(join(next, 'assets', name), join(next, 'assets', other))
  }
  rmSync(dir, { recursive: true, force: true })
  renameSync(next, dir)
}
