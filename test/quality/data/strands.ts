// Drawn subjects with an edge of hair or fur: thousands of strokes, mostly narrower than a pixel.
import type { Pixels, Size } from './case.ts'
import { drawSvg } from './draw.ts'
import type { Random } from './random.ts'

/** Hue in degrees; `light` 0..100. */
export const colourOf = (hue: number, saturation: number, light: number): string =>
  `hsl(${hue.toFixed(0)},${saturation.toFixed(0)}%,${light.toFixed(0)}%)`

type Frame = { readonly unit: number; readonly x: number; readonly y: number }

/** Centre of the subject and its unit of length. */
export const frameOf = ({ width, height }: Size, random: Random, down: number): Frame => ({
  unit: Math.min(width, height * 1.2),
  x: width * random.between(0.44, 0.56),
  y: height * down,
})

/** A head with shoulders; the hair is long, thin, and flies. */
export function drawHair(size: Size, random: Random): Promise<Pixels> {
  const { unit, x, y } = frameOf(size, random, 0.42)
  const radius = unit * random.between(0.15, 0.19)
  const [hue, light] = [random.pick([25, 35, 15, 300, 0]), random.pick([12, 20, 35, 60, 75])]
  const skin = colourOf(random.between(15, 35), random.between(25, 55), random.between(45, 75))
  const coat = colourOf(random.next() * 360, random.between(20, 70), random.between(20, 60))
  const strands = Array.from({ length: 1_400 }, () => {
    const angle = -Math.PI / 2 + random.bell() * 1.05
    const length = radius * (random.between(0.15, 0.75) + (random.next() < 0.12 ? random.between(0.2, 0.9) : 0))
    const root = { x: x + Math.cos(angle) * radius * 0.86, y: y + Math.sin(angle) * radius * 1.12 }
    const bend = angle + random.bell() * 0.35
    const middle = { x: root.x + Math.cos(bend) * length * 0.6, y: root.y + Math.sin(bend) * length * 0.6 }
    const droop = bend + random.bell() * 0.5
    const tip = {
      x: middle.x + Math.cos(droop) * length * 0.6,
      y: middle.y + Math.sin(droop) * length * 0.6 + length / 4,
    }
    const width = unit * random.between(0.0006, 0.0024)
    return stroke([root, middle, tip], width, colourOf(hue, 35, light + random.bell() * 7))
  })
  const [left, right] = [x - radius * 2.1, x + radius * 2.1]
  const shoulders = y + radius * 2
  return drawSvg(
    size,
    random,
    `<path d="M${left} ${size.height} Q${left} ${shoulders} ${x} ${y + radius * 1.5} Q${right} ${shoulders} ${right} ` +
      `${size.height}Z" fill="${coat}"/>` +
      `<rect x="${x - radius * 0.45}" y="${y}" width="${radius * 0.9}" height="${radius * 1.8}" fill="${skin}"/>` +
      `<ellipse cx="${x}" cy="${y - radius * 0.15}" rx="${radius * 1.02}" ry="${radius * 1.2}" ` +
      `fill="${colourOf(hue, 35, light)}"/>` +
      `<ellipse cx="${x}" cy="${y + radius * 0.2}" rx="${radius * 0.8}" ry="${radius}" fill="${skin}"/>` +
      eyes({ x, y: y + radius * 0.1 }, radius * 0.34, radius * 0.09) +
      `<ellipse cx="${x}" cy="${y + radius * 0.75}" rx="${radius * 0.26}" ry="${radius * 0.07}" fill="#a33"/>` +
      `<g fill="none" stroke-linecap="round">${strands.join('')}</g>`,
  )
}

/** An animal: short dense strokes around all of its outline, and whiskers. */
export function drawFur(size: Size, random: Random): Promise<Pixels> {
  const { unit, x, y } = frameOf(size, random, 0.62)
  const [hue, light] = [random.pick([30, 20, 45, 210, 0]), random.pick([20, 40, 60, 82])]
  const body = {
    x,
    y: y + unit * 0.08,
    wide: unit * random.between(0.24, 0.3),
    high: unit * random.between(0.19, 0.25),
  }
  const head = { x: x + unit * random.between(-0.14, 0.14), y: y - unit * 0.2, wide: unit * 0.14, high: unit * 0.13 }
  const ears = [-1, 1].map((side) => ({
    x: head.x + side * head.wide * 0.75,
    y: head.y - head.high * 0.85,
    wide: unit * 0.045,
    high: unit * 0.06,
  }))
  const blobs = [body, head, ...ears]
  const hairs = blobs.flatMap((blob) =>
    Array.from({ length: Math.round((blob.wide / unit) * 5_000) }, () => {
      const angle = random.next() * 2 * Math.PI
      const root = { x: blob.x + Math.cos(angle) * blob.wide * 0.96, y: blob.y + Math.sin(angle) * blob.high * 0.96 }
      const lean = angle + 0.5 + random.bell() * 0.3
      const length = unit * random.between(0.012, 0.05)
      const middle = { x: root.x + (Math.cos(lean) * length) / 2, y: root.y + (Math.sin(lean) * length) / 2 }
      const tip = { x: root.x + Math.cos(lean) * length, y: root.y + Math.sin(lean) * length + length * 0.2 }
      const width = unit * random.between(0.001, 0.003)
      return stroke([root, middle, tip], width, colourOf(hue, 30, light + random.bell() * 8))
    }),
  )
  const whiskers = Array.from({ length: 10 }, (_, i) => {
    const side = i % 2 === 0 ? -1 : 1
    const root = { x: head.x + side * head.wide * 0.3, y: head.y + head.high * 0.45 }
    const length = unit * random.between(0.12, 0.2) * side
    const tip = { x: root.x + length, y: root.y + unit * random.between(-0.05, 0.06) }
    return stroke([root, { x: root.x + length / 2, y: root.y - unit * 0.012 }, tip], unit * 0.0014, '#eee')
  })
  const fills = blobs.map(
    (blob) =>
      `<ellipse cx="${blob.x}" cy="${blob.y}" rx="${blob.wide}" ry="${blob.high}" fill="${colourOf(hue, 30, light)}"/>`,
  )
  return drawSvg(
    size,
    random,
    fills.join('') +
      `<g fill="none" stroke-linecap="round">${hairs.join('')}${whiskers.join('')}</g>` +
      eyes({ x: head.x, y: head.y - head.high * 0.1 }, head.wide * 0.4, head.wide * 0.14) +
      `<ellipse cx="${head.x}" cy="${head.y + head.high * 0.35}" ` +
      `rx="${unit * 0.016}" ry="${unit * 0.011}" fill="#311"/>`,
  )
}

type Point = { readonly x: number; readonly y: number }

const stroke = ([from, over, to]: readonly [Point, Point, Point], width: number, colour: string): string =>
  `<path d="M${round(from.x)} ${round(from.y)}Q${round(over.x)} ${round(over.y)} ${round(to.x)} ${round(to.y)}" ` +
  `stroke="${colour}" stroke-width="${width.toFixed(3)}"/>`

const round = (value: number): string => value.toFixed(2)

const eyes = ({ x, y }: Point, apart: number, radius: number): string =>
  [-1, 1]
    .map(
      (side) =>
        `<circle cx="${x + side * apart}" cy="${y}" r="${radius}" fill="#f4f4f0"/>` +
        `<circle cx="${x + side * apart}" cy="${y}" r="${radius * 0.55}" fill="#222"/>`,
    )
    .join('')
