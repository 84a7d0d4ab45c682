// Drawn subjects that enclose background: holes, lattices, wires; and glass.
import type { Pixels, Size } from './case.ts'
import { drawSvg } from './draw.ts'
import type { Random } from './random.ts'
import { colourOf, frameOf } from './strands.ts'

const anyPaint = (random: Random): string =>
  colourOf(random.next() * 360, random.between(35, 85), random.between(25, 65))

/** A mug with its handle, a ring, a plate of holes, or scissors. */
export function drawHoles(size: Size, random: Random): Promise<Pixels> {
  const { unit, x, y } = frameOf(size, random, 0.52)
  const [one, other] = [anyPaint(random), anyPaint(random)]
  const shape = random.pick([drawMug, drawRing, drawPlate, drawScissors])
  const turned = `<g transform="rotate(${random.between(-20, 20)} ${x} ${y})">`
  return drawSvg(size, random, `${turned}${shape({ unit, x, y, one, other, random })}</g>`)
}

type Draft = {
  readonly unit: number
  readonly x: number
  readonly y: number
  readonly one: string
  readonly other: string
  readonly random: Random
}

function drawMug({ unit, x, y, one, other, random }: Draft): string {
  const [wide, high] = [unit * 0.36, unit * random.between(0.36, 0.46)]
  const handle = `<ellipse cx="${x + wide * 0.62}" cy="${y}" rx="${wide * 0.34}" ry="${high * 0.33}" fill="none" `
  return (
    `${handle}stroke="${one}" stroke-width="${unit * 0.035}"/>` +
    `<rect x="${x - wide / 2}" y="${y - high / 2}" width="${wide}" height="${high}" ` +
    `rx="${unit * 0.03}" fill="${one}"/>` +
    `<rect x="${x - wide / 2}" y="${y - high * 0.1}" width="${wide}" height="${high * 0.2}" fill="${other}"/>` +
    `<ellipse cx="${x}" cy="${y - high / 2}" rx="${wide / 2}" ry="${wide * 0.13}" fill="${other}"/>`
  )
}

const drawRing = ({ unit, x, y, one, other, random }: Draft): string =>
  `<circle cx="${x}" cy="${y}" r="${unit * 0.24}" fill="none" stroke="${one}" ` +
  `stroke-width="${unit * random.between(0.08, 0.17)}"/>` +
  `<circle cx="${x}" cy="${y}" r="${unit * 0.25}" fill="none" stroke="${other}" stroke-width="${unit * 0.03}" ` +
  `stroke-dasharray="${unit * 0.05} ${unit * 0.08}"/>`

function drawPlate({ unit, x, y, one, random }: Draft): string {
  const radius = unit * 0.34
  const holes = Array.from({ length: 19 }, (_, i) => {
    const angle = i * 2.39996
    const away = radius * 0.82 * Math.sqrt((i + 0.5) / 19)
    const hole = radius * random.between(0.05, 0.14)
    const [cx, cy] = [x + Math.cos(angle) * away, y + Math.sin(angle) * away]
    return circlePath(cx, cy, hole)
  })
  return `<path fill-rule="evenodd" fill="${one}" d="${circlePath(x, y, radius)}${holes.join('')}"/>`
}

const circlePath = (x: number, y: number, radius: number): string =>
  `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0Z`

function drawScissors({ unit, x, y, one, other, random }: Draft): string {
  const blades = [-1, 1].map((side) => {
    const open = side * random.between(10, 20)
    return (
      `<g transform="rotate(${open} ${x} ${y})">` +
      `<path d="M${x - unit * 0.03} ${y}L${x} ${y - unit * 0.4}L${x + unit * 0.03} ${y}Z" fill="${other}"/>` +
      `<ellipse cx="${x - side * unit * 0.03}" cy="${y + unit * 0.2}" rx="${unit * 0.08}" ry="${unit * 0.14}" ` +
      `fill="none" stroke="${one}" stroke-width="${unit * 0.04}"/></g>`
    )
  })
  return `${blades.join('')}<circle cx="${x}" cy="${y}" r="${unit * 0.025}" fill="#999"/>`
}

/** A cage, a racket, or a basket of wickerwork: the background in every mesh. */
export function drawLattice(size: Size, random: Random): Promise<Pixels> {
  const { unit, x, y } = frameOf(size, random, 0.46)
  const shape = random.pick([drawCage, drawRacket, drawBasket])
  return drawSvg(size, random, shape({ unit, x, y, one: anyPaint(random), other: anyPaint(random), random }))
}

function drawCage({ unit, x, y, one, other, random }: Draft): string {
  const [wide, high, bars] = [unit * 0.23, unit * 0.34, Math.round(random.between(9, 15))]
  const lines = Array.from({ length: bars }, (_, i) => {
    const across = x + wide * Math.sin((i / (bars - 1) - 0.5) * Math.PI)
    return `<path d="M${across} ${y + high}V${y}Q${across} ${y - high * 0.8} ${x} ${y - high}"/>`
  })
  return (
    `<g fill="none" stroke="${one}" stroke-width="${unit * 0.008}">${lines.join('')}` +
    `<path d="M${x - wide} ${y}H${x + wide}M${x - wide} ${y + high * 0.5}H${x + wide}" ` +
    `stroke-width="${unit * 0.014}"/></g>` +
    `<rect x="${x - wide * 1.08}" y="${y + high}" width="${wide * 2.16}" height="${unit * 0.07}" fill="${other}"/>` +
    `<circle cx="${x}" cy="${y - high - unit * 0.03}" r="${unit * 0.03}" fill="none" stroke="${other}" ` +
    `stroke-width="${unit * 0.012}"/>` +
    `<ellipse cx="${x + wide * 0.1}" cy="${y + high * 0.72}" rx="${wide * 0.34}" ry="${high * 0.16}" fill="${other}"/>`
  )
}

function drawRacket({ unit, x, y, one, other, random }: Draft): string {
  const [wide, high, step] = [unit * 0.2, unit * 0.26, unit * random.between(0.022, 0.036)]
  const strings: string[] = []
  for (let at = -high; at < high; at += step) {
    const half = wide * Math.sqrt(1 - (at / high) ** 2)
    strings.push(`M${x - half} ${y + at}H${x + half}`)
    if (Math.abs(at) < wide) {
      const up = high * Math.sqrt(1 - (at / wide) ** 2)
      strings.push(`M${x + at} ${y - up}V${y + up}`)
    }
  }
  return (
    `<path d="${strings.join('')}" stroke="#f2f2e4" stroke-width="${unit * 0.0035}"/>` +
    `<ellipse cx="${x}" cy="${y}" rx="${wide}" ry="${high}" fill="none" ` +
    `stroke="${one}" stroke-width="${unit * 0.028}"/>` +
    `<rect x="${x - unit * 0.022}" y="${y + high}" width="${unit * 0.044}" height="${unit * 0.24}" fill="${other}"/>`
  )
}

function drawBasket({ unit, x, y, one, other, random }: Draft): string {
  const [wide, high, step] = [unit * 0.3, unit * 0.24, unit * random.between(0.045, 0.07)]
  const rods: string[] = []
  for (let at = -wide; at <= wide; at += step) rods.push(`M${x + at} ${y}L${x + at * 0.75} ${y + high}`)
  for (let at = step; at < high; at += step) {
    const half = wide * (1 - (0.25 * at) / high)
    rods.push(`M${x - half} ${y + at}H${x + half}`)
  }
  return (
    `<path d="${rods.join('')}" stroke="${one}" stroke-width="${unit * 0.016}" fill="none"/>` +
    `<path d="M${x - wide} ${y}A${wide} ${unit * 0.3} 0 0 1 ${x + wide} ${y}" fill="none" stroke="${other}" ` +
    `stroke-width="${unit * 0.022}"/>` +
    `<path d="M${x - wide * 1.04} ${y}H${x + wide * 1.04}M${x - wide * 0.78} ${y + high}H${x + wide * 0.78}" ` +
    `stroke="${other}" stroke-width="${unit * 0.034}"/>`
  )
}

/** A wheel with its spokes, a lamp on a wire, or a plant of bare twigs. */
export function drawWires(size: Size, random: Random): Promise<Pixels> {
  const { unit, x, y } = frameOf(size, random, 0.5)
  const shape = random.pick([drawWheel, drawLamp, drawTwigs])
  return drawSvg(size, random, shape({ unit, x, y, one: anyPaint(random), other: anyPaint(random), random }))
}

function drawWheel({ unit, x, y, one, other, random }: Draft): string {
  const [radius, spokes] = [unit * random.between(0.28, 0.34), Math.round(random.between(14, 28))]
  const lines = Array.from({ length: spokes }, (_, i) => {
    const angle = (i / spokes) * 2 * Math.PI
    const hub = angle + (i % 2 === 0 ? 0.9 : -0.9)
    const [fromX, fromY] = [x + Math.cos(hub) * unit * 0.03, y + Math.sin(hub) * unit * 0.03]
    return `M${fromX} ${fromY}L${x + Math.cos(angle) * radius} ${y + Math.sin(angle) * radius}`
  })
  return (
    `<path d="${lines.join('')}" stroke="#d8d8d8" stroke-width="${unit * 0.0028}"/>` +
    `<circle cx="${x}" cy="${y}" r="${radius}" fill="none" stroke="${one}" stroke-width="${unit * 0.03}"/>` +
    `<circle cx="${x}" cy="${y}" r="${radius * 0.94}" fill="none" stroke="#bbb" stroke-width="${unit * 0.01}"/>` +
    `<circle cx="${x}" cy="${y}" r="${unit * 0.04}" fill="${other}"/>`
  )
}

const drawLamp = ({ unit, x, y, one, other, random }: Draft): string =>
  `<path d="M${x} 0C${x + unit * random.between(-0.1, 0.1)} ${y * 0.3} ${x} ${y * 0.5} ${x} ${y}" fill="none" ` +
  `stroke="#222" stroke-width="${unit * 0.0035}"/>` +
  `<path d="M${x - unit * 0.06} ${y}H${x + unit * 0.06}L${x + unit * 0.22} ${y + unit * 0.2}H${x - unit * 0.22}Z" ` +
  `fill="${one}"/><circle cx="${x}" cy="${y + unit * 0.21}" r="${unit * 0.05}" fill="${other}"/>` +
  `<path d="M${x + unit * 0.15} ${y + unit * 0.2}V${y + unit * 0.36}" stroke="#ddd" stroke-width="${unit * 0.002}"/>` +
  `<circle cx="${x + unit * 0.15}" cy="${y + unit * 0.37}" r="${unit * 0.012}" fill="${other}"/>`

function drawTwigs({ unit, x, y, one, other, random }: Draft): string {
  const paths: string[] = []
  const grow = ([fromX, fromY]: readonly [number, number], angle: number, width: number): void => {
    if (width < unit * 0.0012) return
    const length = random.between(0.8, 1.1) * unit * 0.13 * (width / (unit * 0.022)) ** 0.5
    const to = [fromX + Math.cos(angle) * length, fromY + Math.sin(angle) * length] as const
    paths.push(`<path d="M${fromX} ${fromY}L${to[0]} ${to[1]}" stroke-width="${width}"/>`)
    for (const turn of [-1, 1]) grow(to, angle + turn * random.between(0.2, 0.6), width * 0.62)
  }
  grow([x, y + unit * 0.16], -Math.PI / 2, unit * 0.022)
  return (
    `<g stroke="${one}" stroke-linecap="round" fill="none">${paths.join('')}</g>` +
    `<path d="M${x - unit * 0.12} ${y + unit * 0.14}H${x + unit * 0.12}L${x + unit * 0.09} ${y + unit * 0.33}` +
    `H${x - unit * 0.09}Z" fill="${other}"/>`
  )
}

/** A bottle or a vase: one to two thirds background, with solid and bright parts. */
export function drawGlass(size: Size, random: Random): Promise<Pixels> {
  const { unit, x, y } = frameOf(size, random, 0.52)
  const [wide, high, neck] = [unit * random.between(0.12, 0.19), unit * 0.36, unit * random.between(0.03, 0.09)]
  const [tint, label, thickness] = [anyPaint(random), anyPaint(random), random.between(0.3, 0.6)]
  const outline =
    `M${x - neck} ${y - high}V${y - high * 0.5}C${x - neck} ${y - high * 0.2} ` +
    `${x - wide} ${y - high * 0.3} ${x - wide} ${y}V${y + high * 0.85}` +
    `Q${x - wide} ${y + high} ${x - wide * 0.8} ${y + high}H${x + wide * 0.8}` +
    `Q${x + wide} ${y + high} ${x + wide} ${y + high * 0.85}V${y}C${x + wide} ${y - high * 0.3} ${x + neck} ` +
    `${y - high * 0.2} ${x + neck} ${y - high * 0.5}V${y - high}Z`
  return drawSvg(
    size,
    random,
    `<defs><linearGradient id="body"><stop offset="0" stop-color="${tint}" stop-opacity="0.9"/>` +
      `<stop offset="0.2" stop-color="${tint}" stop-opacity="${thickness}"/>` +
      `<stop offset="0.75" stop-color="${tint}" stop-opacity="${thickness * 0.8}"/>` +
      `<stop offset="1" stop-color="${tint}" stop-opacity="0.9"/></linearGradient></defs>` +
      `<path d="${outline}" fill="url(#body)"/>` +
      `<rect x="${x - wide}" y="${y + high * 0.2}" width="${wide * 2}" height="${high * 0.4}" fill="${label}"/>` +
      `<rect x="${x - neck * 1.2}" y="${y - high * 1.08}" width="${neck * 2.4}" ` +
      `height="${high * 0.12}" fill="${label}"/>` +
      `<path d="M${x - wide * 0.7} ${y}V${y + high * 0.8}" stroke="#fff" stroke-opacity="0.8" ` +
      `stroke-width="${wide * 0.09}"/>`,
  )
}
