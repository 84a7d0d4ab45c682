// `TRITON_URL=host:port make bench ARGS=gpu`: end-to-end throughput with a Triton on a GPU, and the CPU time of each
// process.
import { createInstallation, type Installation } from '../installation.ts'
import { median } from '../median.ts'
import { readPhotos } from '../model.ts'
import { measurePipeline, measureTriton, type Photo } from '../rates.ts'
import { viewsOf } from '../rembg/served-views.ts'
import type { Row } from '../row.ts'
import { processorTimes } from './processor-time.ts'

type GpuOptions = {
  readonly rounds: number
  readonly seconds: number
  readonly say: (line: string) => void
  readonly tritonUrl: string | undefined
}

/** Creations per second: above a controller's throughput, below the API's limit. */
const pace = 400

export async function measureGpu({ rounds, seconds, say, tritonUrl }: GpuOptions): Promise<Row[]> {
  if (tritonUrl === undefined) throw new Error('set TRITON_URL to host:port of a Triton that serves u2netp on a GPU')
  const photos = await readPhotos()
  const installation = await createInstallation({ tritonUrl })
  try {
    const views = await viewsOf(installation)
    const sets: [name: string, photo: Photo, factor: number][] = [
      ['680×440 PNG', photos.small, 1],
      ['1 megapixel JPEG', photos.megapixel, 0.7],
      ['12 megapixels PNG', photos.large, 0.1],
    ]
    const asked = await measureTriton(tritonUrl, seconds)
    const rows: Row[] = []
    for (const [name, photo, factor] of sets) {
      // Task count estimated from the warm-up.
      const warm = await measurePipeline(installation, photo, { count: Math.round(150 * factor) + 12, pace })
      const count = Math.max(16, Math.round(warm * seconds))
      const all: Measured[] = []
      for (let round = 0; round < rounds; round++) all.push(await measure(installation, photo, count))
      const rate = median(all.map((one) => one.rate))
      const cpu = all[0]?.cpu ?? ''
      say(`${name}: ${all.map((one) => one.rate.toFixed(1)).join(', ')} images/s; CPU ms an image: ${cpu}`)
      rows.push({
        name: `end to end ÷ Triton alone through one connection, ${name}`,
        ratio: (rate * views) / asked,
        detail: `${rate.toFixed(1)}/s with ${views} views, Triton ${asked.toFixed(0)}/s; CPU ms an image: ${cpu}`,
      })
    }
    return rows
  } finally {
    await installation.remove()
  }
}

type Measured = { readonly rate: number; readonly cpu: string }

async function measure(installation: Installation, photo: Photo, count: number): Promise<Measured> {
  const before = processorTimes(installation.runDir)
  const rate = await measurePipeline(installation, photo, { count, pace })
  const after = processorTimes(installation.runDir)
  const parts = [...after].map(([name, ms]): [string, number] => [name, (ms - (before.get(name) ?? 0)) / count])
  const cpu = parts.sort((a, b) => b[1] - a[1]).map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
  return { rate, cpu: cpu.join(', ') }
}
