import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

interface ModelRepositoryOptions {
  /** The folder `models/`: one folder for each model, with `configs/cpu.pbtxt`. It is only read. */
  source: string
  /** The folder that Triton is to serve. It is made, or replaced as a whole. */
  target: string
  /** How many cores inference may use, at least 1: the instances of each model on the CPU. */
  cores: number
}

/**
 * Makes a copy of the model repository whose `cpu` configurations have one instance to a core, and returns the names of
 * its models. Weights are links into `source`, so the copy takes no space and changes with it.
 *
 * A count has to be written because Triton has no word for "as many as there are cores": absent, it means two.
 * Throws when `cores` is no whole number from 1, or when a configuration has no single instance count.
 */
export async function prepareModelRepository({ source, target, cores }: ModelRepositoryOptions): Promise<string[]> {
  if (!Number.isInteger(cores) || cores < 1) {
    throw new RangeError(`cores is ${cores}: give the number of cores that inference may use, 1 or more`)
  }
  const entries = await readdir(source, { withFileTypes: true })
  const models = entries.filter((entry) => entry.isDirectory() && /^[a-z0-9]/i.test(entry.name)).map(({ name }) => name)
  const fresh = `${target}.new`
  await rm(fresh, { recursive: true, force: true })
  for (const model of models) await prepareModel(resolve(source, model), join(fresh, model), cores)
  await rm(target, { recursive: true, force: true })
  await rename(fresh, target)
  return models.sort()
}

async function prepareModel(source: string, target: string, cores: number): Promise<void> {
  await mkdir(target, { recursive: true })
  await cp(join(source, 'config.pbtxt'), join(target, 'config.pbtxt'))
  await cp(join(source, 'configs'), join(target, 'configs'), { recursive: true })
  const cpuConfig = join(target, 'configs', 'cpu.pbtxt')
  await writeFile(cpuConfig, withInstanceCount(await readFile(cpuConfig, 'utf8'), cores))
  for (const entry of await readdir(source)) {
    if (/^[1-9]\d*$/.test(entry)) await symlink(join(source, entry), join(target, entry))
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
