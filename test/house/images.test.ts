import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import { describe, expect, it } from 'vitest'

const folder = 'test/e2e/fake-triton'

/** The paths that a Dockerfile copies from the repository. */
function copiedBy(dockerfile: string): string[] {
  const lines = readFileSync(join(rootDir, dockerfile), 'utf8').split('\n')
  return lines.flatMap((line) => (line.startsWith('COPY ') ? line.split(/\s+/).slice(1, -1) : []))
}

/** Files of the repository that a program loads, itself included. */
async function loadedBy(program: string): Promise<string[]> {
  const options = { baseDir: rootDir, parser: 'swc', doNotFollow: { path: 'node_modules' } } as const
  const { output } = await cruise([program], options, { exportsFields: ['exports'], conditionNames: ['import'] })
  const { modules } = output as ICruiseResult
  return modules.map(({ source }) => source).filter((path) => existsSync(join(rootDir, path)))
}

describe('the image of the fake Triton', () => {
  const copied = copiedBy(`${folder}/Dockerfile`)

  it('copies only existing paths that its build context contains', () => {
    const context = readFileSync(join(rootDir, `${folder}/Dockerfile.dockerignore`), 'utf8').split('\n')
    const isInContext = (path: string): boolean =>
      context.some((line) => line.startsWith('!') && `${path}/`.startsWith(`${line.slice(1)}/`))
    expect(copied.filter((path) => path.includes('/') && !existsSync(join(rootDir, path)))).toEqual([])
    expect(copied.filter((path) => !isInContext(path))).toEqual([])
  })

  it('copies every file that the program loads', async () => {
    const isCopied = (path: string): boolean => copied.some((one) => path === one || path.startsWith(`${one}/`))
    const loaded = await loadedBy(`${folder}/main.ts`)
    expect(loaded).toContain(`${folder}/main.ts`)
    expect(loaded.filter((path) => !isCopied(path) && !path.startsWith('node_modules/'))).toEqual([])
  })
})
