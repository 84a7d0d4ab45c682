// Photo and cut-out on top of each other: a slider uncovers one or the other, and both zoom and move in step.
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from 'react'
import { useText } from '../../text/text.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import styles from './compare.module.css'
import { playgroundText } from './playground-text.ts'
import { fitView, move, type View, zoomAt } from './view.ts'

export const grounds = ['checker', 'white', 'black', 'colour'] as const
export type Ground = (typeof grounds)[number]

type CompareProps = {
  readonly before: string
  /** Undefined while the cut-out is on its way. */
  readonly after: string | undefined
  readonly alt: string
}

const zoomStep = 1.5
const moveStep = 40

export function Compare({ before, after, alt }: CompareProps) {
  const text = useText(playgroundText)
  const [share, setShare] = useState(50)
  const [ground, setGround] = useState<Ground>('checker')
  const [colour, setColour] = useState('#3fa7d6')
  const [view, setView] = useState<View>(fitView)
  const stage = useRef<HTMLDivElement>(null)
  const layers = useRef<HTMLDivElement>(null)
  const pointers = useRef(new Map<number, { x: number; y: number }>())
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new photo starts with the whole image
  useEffect(() => setView(fitView), [before])
  useWheelZoom(stage, setView)

  /** Pixels of the image per CSS pixel of the page. */
  const pixelScale = (): number => {
    const image = layers.current?.querySelector('img')
    if (!image || image.clientWidth === 0) return 1
    return image.naturalWidth / image.clientWidth / devicePixelRatio
  }
  const zoom = (factor: number): void => setView((now) => zoomAt(now, factor, { x: 0, y: 0 }))
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== stage.current) return
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [moveStep, 0],
      ArrowRight: [-moveStep, 0],
      ArrowUp: [0, moveStep],
      ArrowDown: [0, -moveStep],
    }
    const [x, y] = moves[event.key] ?? [0, 0]
    if (x !== 0 || y !== 0) setView((now) => move(now, { x, y }))
    else if (event.key === '+') zoom(zoomStep)
    else if (event.key === '-') zoom(1 / zoomStep)
    else if (event.key === '0') setView(fitView)
    else return
    event.preventDefault()
  }
  const onPointerDown = (event: PointerEvent): void => {
    if (event.target instanceof HTMLInputElement) return
    pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY })
    event.currentTarget.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: PointerEvent): void => {
    const last = pointers.current.get(event.pointerId)
    if (last === undefined) return
    const next = { x: event.clientX, y: event.clientY }
    const [other] = [...pointers.current].filter(([id]) => id !== event.pointerId).map(([, point]) => point)
    pointers.current.set(event.pointerId, next)
    const by = { x: next.x - last.x, y: next.y - last.y }
    const factor = other === undefined ? 1 : distance(next, other) / Math.max(1, distance(last, other))
    setView((now) => (other === undefined ? move(now, by) : zoomAt(now, factor, { x: 0, y: 0 })))
  }
  const onPointerUp = (event: PointerEvent): void => void pointers.current.delete(event.pointerId)

  return (
    <div className={styles.compare}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be the stage of a picture */}
      <div
        ref={stage}
        className={styles.stage}
        role="group"
        aria-label={text.compare}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move the picture, + and - zoom
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={onPointerUp}
      >
        <div
          ref={layers}
          className={`${styles.layers} ${view.scale >= pixelatedFrom ? styles.pixelated : ''}`}
          style={{ transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}
        >
          <img className={styles.image} src={before} alt={`${alt}, ${text.before}`} draggable={false} />
          {after !== undefined && (
            <div
              className={`${styles.after} ${styles[ground]}`}
              style={{ clipPath: `inset(0 0 0 ${share}%)`, ...(ground === 'colour' && { background: colour }) }}
            >
              <img className={styles.image} src={after} alt={`${alt}, ${text.after}`} draggable={false} />
            </div>
          )}
          {after !== undefined && <span className={styles.edge} style={{ insetInlineStart: `${share}%` }} />}
        </div>
      </div>
      {after !== undefined && (
        <label className={styles.sliderRow}>
          <span>{text.before}</span>
          <input
            className={styles.slider}
            type="range"
            min="0"
            max="100"
            step="1"
            value={share}
            aria-label={text.slider}
            onChange={(event) => setShare(Number(event.target.value))}
          />
          <span>{text.after}</span>
        </label>
      )}
      <div className={styles.tools}>
        {/* biome-ignore lint/a11y/useSemanticElements: a toolbar of buttons that belong together */}
        <div role="group" aria-label={text.ground} className={styles.group}>
          {grounds.map((one) => (
            <button
              key={one}
              type="button"
              className={`${styles.swatch} ${one === 'colour' ? '' : styles[one]}`}
              style={one === 'colour' ? { background: colour } : undefined}
              aria-pressed={ground === one}
              aria-label={text.grounds[one]}
              title={text.grounds[one]}
              onClick={() => setGround(one)}
            />
          ))}
          {ground === 'colour' && (
            <input
              type="color"
              className={styles.colourInput}
              aria-label={text.colour}
              value={colour}
              onChange={(event) => setColour(event.target.value)}
            />
          )}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: a toolbar of buttons that belong together */}
        <div role="group" aria-label={text.zoom} className={styles.group}>
          <IconButton label={text.zoomOut} onPress={() => zoom(1 / zoomStep)}>
            −
          </IconButton>
          <IconButton label={text.zoomIn} onPress={() => zoom(zoomStep)}>
            +
          </IconButton>
          <Button size="small" look="quiet" onPress={() => setView(fitView)}>
            {text.fit}
          </Button>
          <Button size="small" look="quiet" onPress={() => setView({ x: 0, y: 0, scale: pixelScale() * pixelZoom })}>
            {text.pixels}
          </Button>
        </div>
      </div>
    </div>
  )
}

/** At this scale and above, pixels show as squares. */
const pixelatedFrom = 4
/** CSS pixels that one pixel of the image gets. */
const pixelZoom = 8

const distance = (a: { x: number; y: number }, b: { x: number; y: number }): number => Math.hypot(a.x - b.x, a.y - b.y)

/** Listens by hand, since React's wheel listeners are passive and could not keep the page from scrolling. */
function useWheelZoom(
  stage: { readonly current: HTMLDivElement | null },
  setView: (change: (now: View) => View) => void,
) {
  useEffect(() => {
    const element = stage.current
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const { left, top, width, height } = (event.currentTarget as HTMLElement).getBoundingClientRect()
      const at = { x: event.clientX - left - width / 2, y: event.clientY - top - height / 2 }
      setView((now) => zoomAt(now, Math.exp(-event.deltaY / 200), at))
    }
    element?.addEventListener('wheel', onWheel, { passive: false })
    return () => element?.removeEventListener('wheel', onWheel)
  }, [stage, setView])
}
