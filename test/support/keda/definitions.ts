// KEDA's own definitions from its Go module: in $KEDA_CRDS, or in Go's module cache.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** The release that docs/external-scalers.md and docs/footprint.md describe. */
export const kedaModule = 'github.com/kedacore/keda/v2@v2.21.0'

export type Definition = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: object } }[]
  }
}

/** All definitions of KEDA, or the reason why they are unavailable. */
export function findKedaDefinitions(): readonly Definition[] | string {
  const module = process.env.KEDA_CRDS === undefined ? fetchKedaModule() : undefined
  const dir = process.env.KEDA_CRDS ?? (module && join(module, 'config/crd/bases'))
  if (dir === undefined) return `Go cannot fetch ${kedaModule}; KEDA_CRDS may name a folder with KEDA's definitions`
  if (!existsSync(dir)) return `${dir} is not there`
  const files = readdirSync(dir).filter((name) => name.endsWith('.yaml'))
  return files.map((name) => parse(readFileSync(join(dir, name), 'utf8')) as Definition)
}

/** The folder of its source in Go's module cache; undefined if Go or its proxy is unavailable. */
export function fetchKedaModule(): string | undefined {
  try {
    const args = ['mod', 'download', '-json', kedaModule]
    const { Dir } = JSON.parse(execFileSync('go', args, { encoding: 'utf8', stdio: 'pipe', timeout: 120_000 }))
    return String(Dir)
  } catch {
    return undefined
  }
}
