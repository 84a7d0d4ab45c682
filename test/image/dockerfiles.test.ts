import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'

const read = (path: string): string => readFileSync(join(rootDir, path), 'utf8')

/** Instructions that docker without BuildKit, or buildah, does not support. */
const unsupportedBySome =
  /^#\s*syntax=|--mount=|--chmod=|--link\b|--parents\b|--exclude=|--security=|<<-?["']?[A-Z]+|^ADD .*git/m

describe('the images', () => {
  it.each(['Dockerfile', 'models/Dockerfile'])('are built from %s by any tool', (path) => {
    expect(read(path)).not.toMatch(unsupportedBySome)
  })

  it.each([
    ['Dockerfile', ['npm', 'apt-get']],
    ['models/Dockerfile', ['apt-get', 'pip']],
  ])('from %s print advice if %j cannot fetch a package', (path, programs) => {
    const fetches = read(path)
      .split(/(?=\b(?:npm|apt-get|pip) install )/)
      .slice(1)
    expect(fetches.map((one) => /^\S+/.exec(one)?.[0])).toEqual(programs)
    for (const one of fetches) {
      expect(one).toMatch(/^[^|]*\|\| \{ echo '[^']* for the reason above\.[\s\S]*?network[\s\S]*?>&2; exit 1; \}/)
    }
  })

  it('use one base image, by digest', () => {
    const text = read('Dockerfile')
    expect(text).toMatch(/^ARG NODE_DIGEST=sha256:[0-9a-f]{64}$/m)
    expect(text).toMatch(/^ARG NODE_IMAGE=\S+@\$\{NODE_DIGEST\}$/m)
    const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    expect(new Set(bases)).toEqual(new Set([`\${NODE_IMAGE}`, 'scratch']))
  })

  it('have executable programs: COPY keeps their mode', () => {
    for (const name of ['matte', 'matte-admin', 'matte-cli']) {
      expect(statSync(join(rootDir, 'charts/image', name)).mode & 0o111, name).toBe(0o111)
    }
  })
})
