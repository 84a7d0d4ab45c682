// The built image in docker, podman or buildah, or on the nodes of the kube context.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { matteImage } from './image-names.ts'

export const image = process.env.MATTE_IMAGE ?? matteImage

export type BuiltImage = {
  /** Name of the program that has it. */
  readonly by: string
  /** Runs a shell script in the image and returns its output. */
  run(script: string): string
}

function ask(program: string, args: readonly string[]): string | undefined {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    return execFileSync(program, args, { encoding: 'utf8', stdio: [...stdio], maxBuffer: 64 * 1024 * 1024 })
  } catch {
    return undefined
  }
}

const need = (program: string, args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })

/** Undefined if no image was built here. */
export function findImage(): BuiltImage | undefined {
  const engines = process.env.CONTAINER_TOOL === undefined ? ['docker', 'podman'] : [process.env.CONTAINER_TOOL]
  for (const by of engines) {
    if (ask(by, ['image', 'inspect', image]) === undefined) continue
    const args = ['run', '--rm', '--network=none', '--entrypoint', 'sh', image, '-c']
    return { by, run: (script) => need(by, [...args, script]) }
  }
  if (ask('buildah', ['inspect', '--type', 'image', image]) !== undefined) return byBuildah
  const known = ask('kubectl', [
    'get',
    'nodes',
    '--request-timeout=5s',
    '-o',
    'jsonpath={.items[*].status.images[*].names}',
  ])
  return known?.includes(image.replace(/^docker\.io\//, '')) ? onCluster : undefined
}

const byBuildah: BuiltImage = {
  by: 'buildah',
  run: (script) => {
    const container = need('buildah', ['from', '--pull-never', image]).trim()
    try {
      return need('buildah', ['run', container, '--', 'sh', '-c', script])
    } finally {
      need('buildah', ['rm', container])
    }
  },
}

/** A pod that ends by itself, in the context's namespace. */
const onCluster: BuiltImage = {
  by: 'the cluster',
  run: (script) => {
    const name = `matte-image-${randomBytes(3).toString('hex')}`
    const command = ['--restart=Never', `--image=${image}`, '--image-pull-policy=Never', '--command', '--', 'sh', '-c']
    need('kubectl', ['run', name, ...command, script])
    try {
      need('kubectl', ['wait', `pod/${name}`, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=120s'])
      return need('kubectl', ['logs', name])
    } finally {
      need('kubectl', ['delete', 'pod', name, '--wait=false'])
    }
  },
}
