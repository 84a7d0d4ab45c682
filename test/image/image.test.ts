// Size, content and user of the built image.
import { describe, expect, it } from 'vitest'
import { reportSkip } from '../support/report/skips.ts'
import { findImage, image } from './built-image.ts'
import { type Component, findUnlisted } from './licences.ts'

/** Measured: 291 MB (`du -sxb /`), two fifths of it Node. */
const sizeMaxBytes = 320_000_000

const built = findImage()
if (built === undefined) reportSkip({ matching: 'image/image.test.ts', reason: `nothing here has the image ${image}` })

describe.skipIf(built === undefined)('the image', () => {
  const run = (script: string): string => built?.run(script) ?? ''

  it(`is smaller than ${sizeMaxBytes / 1e6} MB`, () => {
    // Some small Debian folders are readable by root only.
    const size = Number(run('du -sxb / 2>/dev/null | cut -f1'))
    process.stdout.write(`image: ${(size / 1e6).toFixed(0)} MB by ${built?.by}\n`)
    expect(size).toBeGreaterThan(100_000_000)
    expect(size).toBeLessThan(sizeMaxBytes)
  })

  it('lists its contents, all under allowed licences', () => {
    const { components, bomFormat } = JSON.parse(run('cat /app/sbom.json')) as {
      readonly bomFormat: string
      readonly components: readonly Component[]
    }
    expect(bomFormat).toBe('CycloneDX')
    const names = components.map(({ name }) => name)
    for (const name of ['fastify', 'sharp', 'node', 'libc6', 'libjemalloc2', 'tini']) expect(names).toContain(name)
    expect(findUnlisted(components)).toEqual([])
    const notices = run('cat /app/third-party-notices.txt')
    const asked = ['fastify', '@zxcvbn-ts/language-common', 'SIL OPEN FONT LICENSE']
    for (const name of asked) expect(notices).toContain(name)
  })

  it('has no npm, and no files that its user can change', () => {
    expect(run('command -v npm || echo none')).toContain('none')
    expect(run('id -u')).toContain('10001')
    expect(run('find /app /usr/local -writable ! -type l | head -3')).toBe('')
  })
})
