import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

interface ModelRepositoryOptions {
  /** The folder `models/`: one folder for each model, with `configs/cpu.pbtxt`. It is only read. */
  source: string
  /** The folder that Triton is to serve. It is made, or replaced as a whole. */
  target: string
  /** How many cores inference may use, at least 1: the instances of each model on the CPU. */
  cores: number
  /** What the processor can do, for which a model may have other configurations; by default what this machine's can. */
  processor?: Processor
  /** Whether those for OpenVINO may be taken: true, since `local/triton/install.sh` has it. */
  openvino?: boolean | undefined
}

type Processor = { readonly vnni: boolean; readonly amx: boolean }

type ConfigName = 'cpu' | 'cpu-vnni' | 'cpu-vnni-openvino' | 'cpu-amx-openvino'

type PreparedModel = {
  readonly name: string
  /** The file in `configs/` that its `cpu.pbtxt` was made of. */
  readonly config: ConfigName
}

/**
 * Makes a copy of the model repository whose `cpu` configurations suit the processor and have one instance to a core,
 * and returns its models. Weights are links into `source`, so the copy takes no space and changes with it.
 *
 * A count has to be written because Triton has no word for "as many as there are cores": absent, it means two.
 * Throws when `cores` is no whole number from 1, or when a configuration has no single instance count.
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

/** The same flags as in a pod (controller/src/operator/specs/prepare-models.sh). */
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
    // A folder of its own, since Python leaves what it compiled beside a model that is a program.
    await mkdir(join(target, version))
    for (const file of await readdir(join(source, version))) {
      await symlink(join(source, version, file), join(target, version, file))
    }
  }
}

/** Writes the count of the one instance group; other counts, such as a warm-up's, stay. */
export function withInstanceCount(config: string, count: number): string {
  const group = /(\binstance_group\s*\[\s*\{[^{}]*\bcount\s*:\s*)\d+([^{}]*\}\s*\])/g
  if ([...config.matchAll(group)].length !== 1) {
    throw new Error('configs/cpu.pbtxt needs exactly one instance_group [ { … count: N … } ]')
  }
  return config.replace(group, `$1${count}$2`)
}
