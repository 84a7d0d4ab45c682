import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

interface ModelRepositoryOptions {
  source: string
  target: string
  /** Instances of each model on the CPU, at least 1. */
  cores: number
  /** Default: this machine's features. */
  processor?: Processor
  /** Whether OpenVINO configurations are allowed; default true. */
  openvino?: boolean | undefined
}

type Processor = { readonly vnni: boolean; readonly amx: boolean }

type ConfigName = 'cpu' | 'cpu-vnni' | 'cpu-vnni-openvino' | 'cpu-amx-openvino'

type PreparedModel = {
  readonly name: string
  readonly config: ConfigName
}

/**
 * Copies the repository with the `cpu` configurations that suit the processor, one instance per core (Triton's default
 * is two); weights are links. @throws RangeError, or Error for a configuration without a single instance count
 */
export async function prepareModelRepository(options: ModelRepositoryOptions): Promise<PreparedModel[]> {
  const { source, target, cores, processor = await readProcessor(), openvino = true } = options
  if (!Number.isInteger(cores) || cores < 1) {
    throw new RangeError(`cores is ${cores}: give the number of cores that inference may use, 1 or more`)
  }
  const entries = await readdir(source, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory() && /^[a-z0-9]/i.test(entry.name))
  const fresh = `${target}.new`
  await rm(fresh, { recursive: true, force: true })
  const forms: ConfigName[] = [
    ...(processor.amx && openvino ? ['cpu-amx-openvino' as const] : []),
    ...(processor.vnni && openvino ? ['cpu-vnni-openvino' as const] : []),
    ...(processor.vnni ? ['cpu-vnni' as const] : []),
  ]
  const models: PreparedModel[] = []
  for (const { name } of folders.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const folder = resolve(source, name)
    const config = forms.find((form) => existsSync(join(folder, `configs/${form}.pbtxt`))) ?? 'cpu'
    await prepareModel(folder, join(fresh, name), { cores, config })
    models.push({ name, config })
  }
  await rm(target, { recursive: true, force: true })
  await rename(fresh, target)
  return models
}

/** The same flags as in controller/src/operator/specs/prepare-models.sh. */
export async function readProcessor(): Promise<Processor> {
  const facts = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  return { vnni: /\b(avx512_vnni|avx_vnni)\b/.test(facts), amx: /\bamx_bf16\b/.test(facts) }
}

type Chosen = { readonly cores: number; readonly config: ConfigName }

async function prepareModel(source: string, target: string, { cores, config }: Chosen): Promise<void> {
  await mkdir(target, { recursive: true })
  await cp(join(source, 'config.pbtxt'), join(target, 'config.pbtxt'))
  await cp(join(source, 'configs'), join(target, 'configs'), { recursive: true })
  const chosen = await readFile(join(source, 'configs', `${config}.pbtxt`), 'utf8')
  await writeFile(join(target, 'configs/cpu.pbtxt'), withInstanceCount(chosen, cores))
  for (const version of (await readdir(source)).filter((entry) => /^[1-9]\d*$/.test(entry))) {
    // A real folder: Python writes bytecode beside a model that is a program.
    await mkdir(join(target, version))
    for (const file of await readdir(join(source, version))) {
      await symlink(join(source, version, file), join(target, version, file))
    }
  }
}

export function withInstanceCount(config: string, count: number): string {
  const group = /(\binstance_group\s*\[\s*\{[^{}]*\bcount\s*:\s*)\d+([^{}]*\}\s*\])/g
  if ([...config.matchAll(group)].length !== 1) {
    throw new Error('configs/cpu.pbtxt needs exactly one instance_group [ { … count: N … } ]')
  }
  return config.replace(group, `$1${count}$2`)
}

export type ListedModel = {
  readonly modelVersion: string
  readonly folder: string
  readonly isDefault: boolean
}

/** Models in `models.json` whose folders exist, including those of `make model-add`. */
export function readListedModels(source: string): ListedModel[] {
  const listed = JSON.parse(readFileSync(join(source, 'models.json'), 'utf8')) as Record<string, Line>
  return Object.entries(listed)
    .filter(([, { folder }]) => existsSync(join(source, folder)))
    .map(([modelVersion, { folder, default: isDefault }]) => ({ modelVersion, folder, isDefault }))
}

type Line = { readonly folder: string; readonly default: boolean }
