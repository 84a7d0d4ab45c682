// `make bench ARGS=model`: end-to-end throughput relative to the bare model on the same cores. Always in fp32 with one
// view, for which the targets were set: relative to a model that takes a fifth of the time, everything else weighs five
// times as much.
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import { measureBare } from './bare.ts'
import { createInstallation, type Installation } from './installation.ts'
import { measureLatency, measureParts, measureProcessing } from './latency.ts'
import { median } from './median.ts'
import { measurePipeline, measureTriton, type Photo } from './rates.ts'
import { viewsOf } from './rembg/served-views.ts'
import type { Row } from './row.ts'
import { measureWireBytes } from './wire-bytes.ts'

export type ModelOptions = {
  readonly rounds: number
  readonly seconds: number
  readonly say: (line: string) => void
}

export async function measureModel(options: ModelOptions): Promise<Row[]> {
  const photos = await readPhotos()
  const installation = await createInstallation({ fp32: true })
  try {
    const wire = await wireRow(installation)
    const latency = await latencyRow(installation, photos.small, options.rounds)
    const large = await largeRow(installation, photos.large)
    const views = await viewsOf(installation)
    const rates = await measureRates(installation, photos, { ...options, views })
    return [...rateRows(rates, views), latency, large, wire]
  } finally {
    await installation.remove()
  }
}

type Photos = Readonly<Record<'small' | 'megapixel' | 'large', Photo>>

export async function readPhotos(): Promise<Photos> {
  const file = await readFile(join(rootDir, 'test/fixtures/photos/lemur.png'))
  const megapixel = await sharp(file).resize(1236, 800, { fit: 'fill' }).jpeg({ quality: 90 }).toBuffer()
  const large = await sharp(file).removeAlpha().resize(4307, 2787, { fit: 'fill', kernel: 'cubic' }).png().toBuffer()
  return {
    small: { bytes: file, contentType: 'image/png' },
    megapixel: { bytes: megapixel, contentType: 'image/jpeg' },
    large: { bytes: large, contentType: 'image/png' },
  }
}

const warmUpImages = 60

type Rates = Record<'two' | 'one' | 'tuned' | 'triton' | 'small' | 'megapixel', number[]>

/** Alternates, so changes of the machine's speed affect all. */
async function measureRates(
  installation: Installation,
  photos: Photos,
  { rounds, seconds, say, views }: ModelOptions & { readonly views: 1 | 2 },
): Promise<Rates> {
  const rates: Rates = { two: [], one: [], tuned: [], triton: [], small: [], megapixel: [] }
  const cores = availableParallelism()
  // Warms up the bare model too; Node compiles while it works.
  await measurePipeline(installation, photos.small, { count: warmUpImages, pace: warmUpImages })
  for (let round = 0; round < rounds; round++) {
    const two = await measureBare({ processes: cores, threads: 1, seconds })
    rates.two.push(two.imagesPerSecond)
    const pace = two.imagesPerSecond / views
    const load = { count: Math.max(12, Math.round(pace * seconds)), pace }
    rates.small.push(await measurePipeline(installation, photos.small, load))
    rates.triton.push(await measureTriton(installation.tritonAddress, seconds))
    rates.one.push((await measureBare({ processes: 1, threads: cores, seconds })).imagesPerSecond)
    rates.tuned.push((await measureBare({ processes: cores, threads: 1, seconds, tuned: true })).imagesPerSecond)
    rates.megapixel.push(await measurePipeline(installation, photos.megapixel, load))
    const line = Object.entries(rates).map(([name, all]) => `${name} ${all.at(-1)?.toFixed(2)}`)
    say(`round ${round + 1} of ${rounds}, images/s: ${line.join(', ')}`)
  }
  return rates
}

/** The bare model runs each view too. */
function rateRows(rates: Rates, views: 1 | 2): Row[] {
  const two = median(rates.two)
  const one = median(rates.one)
  const bare = Math.max(two, one)
  const how = two >= one ? 'a process a core' : 'one process, a thread a core'
  const row = (name: string, all: number[], { atLeast, asks }: { atLeast: number; asks: number }): Row => {
    const rate = median(all)
    const detail = `${rate.toFixed(2)}/s, bare ${bare.toFixed(2)}/s ÷ ${asks} (${how})`
    return { name, ratio: (rate * asks) / bare, target: { atLeast }, detail }
  }
  return [
    row('end to end ÷ bare model, 680×440 PNG', rates.small, { atLeast: 0.85, asks: views }),
    row('end to end ÷ bare model, 1 megapixel JPEG', rates.megapixel, { atLeast: 0.72, asks: views }),
    row('Triton ÷ bare model', rates.triton, { atLeast: 0.9, asks: 1 }),
    // Memory settings help Triton and the bare model alike; this row leaves them out.
    {
      name: "end to end ÷ bare model with Triton's memory settings, 680×440 PNG",
      ratio: (median(rates.small) * views) / median(rates.tuned),
      detail: `${median(rates.small).toFixed(2)}/s, bare ${median(rates.tuned).toFixed(2)}/s ÷ ${views}`,
    },
  ]
}

async function latencyRow(installation: Installation, photo: Photo, rounds: number): Promise<Row> {
  await measureLatency(installation, photo, 3)
  const parts: Awaited<ReturnType<typeof measureParts>>[] = []
  const wholes: number[] = []
  for (let round = 0; round < rounds; round++) {
    wholes.push(await measureLatency(installation, photo, 8))
    parts.push(await measureParts(installation, photo, 8))
  }
  const sum = median(parts.map((part) => Object.values(part).reduce((total, ms) => total + ms, 0)))
  const whole = median(wholes)
  const names = Object.keys(parts[0] ?? {}) as (keyof (typeof parts)[number])[]
  const detail = names.map((name) => `${name} ${median(parts.map((part) => part[name])).toFixed(0)}`).join(' + ')
  return {
    name: 'p50 create→succeeded, one at a time ÷ sum of its parts alone',
    ratio: whole / sum,
    target: { atMost: 1.15 },
    detail: `${whole.toFixed(0)} ms; ${detail} = ${sum.toFixed(0)} ms`,
  }
}

/** No ratio: the documented limit in seconds. */
async function largeRow(installation: Installation, photo: Photo): Promise<Row> {
  const together = availableParallelism()
  await measureProcessing(installation, photo, { count: together, together })
  const ms = await measureProcessing(installation, photo, { count: 12, together })
  return {
    name: `mean seconds of processing, 12 megapixels PNG, ${together} at a time`,
    ratio: ms / 1_000,
    target: { atMost: 1.5 },
    detail: `${ms.toFixed(0)} ms, ${(photo.bytes.length / 1e6).toFixed(1)} MB a file`,
  }
}

async function wireRow({ tritonAddress }: Installation): Promise<Row> {
  const { perImage, tensors } = await measureWireBytes(tritonAddress, 20)
  return {
    name: 'gRPC bytes per image ÷ input + output bytes',
    ratio: perImage / tensors,
    target: { atMost: 1.05 },
    detail: `${perImage.toFixed(0)} of ${tensors} bytes`,
  }
}
