import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseSources } from './read-sources.ts'
import { readWorkspaces, resolveImports } from './resolve-imports.ts'

const rootDir = join(import.meta.dirname, '../..')
const folder = 'test/e2e/fake-triton'

/** The paths that a Dockerfile copies from the repository. */
function copiedBy(dockerfile: string): string[] {
  const lines = readFileSync(join(rootDir, dockerfile), 'utf8').split('\n')
  return lines.flatMap((line) => (line.startsWith('COPY ') ? line.split(/\s+/).slice(1, -1) : []))
}

/** Files of ours that a program loads, itself included. */
function loadedBy(program: string): string[] {
  const workspaces = readWorkspaces(rootDir)
  const loaded = new Set([program])
  for (const path of loaded) {
    if (!path.endsWith('.ts')) continue
    const files = parseSources({ [path]: readFileSync(join(rootDir, path), 'utf8') })
    for (const { to } of resolveImports(files, workspaces)) if (existsSync(join(rootDir, to))) loaded.add(to)
  }
  return [...loaded]
}

describe('the image of the fake Triton', () => {
  const copied = copiedBy(`${folder}/Dockerfile`)

  it('copies only what is there, and what its context lets through', () => {
    const context = readFileSync(join(rootDir, `${folder}/Dockerfile.dockerignore`), 'utf8').split('\n')
    const isLetThrough = (path: string): boolean =>
      context.some((line) => line.startsWith('!') && `${path}/`.startsWith(`${line.slice(1)}/`))
    expect(copied.filter((path) => path.includes('/') && !existsSync(join(rootDir, path)))).toEqual([])
    expect(copied.filter((path) => !isLetThrough(path))).toEqual([])
  })

  it('copies all that the program loads', () => {
    const has = (path: string): boolean => copied.some((one) => path === one || path.startsWith(`${one}/`))
    expect(loadedBy(`${folder}/main.ts`).filter((path) => !has(path))).toEqual([])
  })
})
