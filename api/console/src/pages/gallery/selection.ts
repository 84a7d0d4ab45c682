// Selection and keyboard of a grid of tasks, as pure functions.

export type Selection = {
  readonly ids: ReadonlySet<string>
  /** First end of a range that Shift extends. */
  readonly anchor: string | undefined
}

export const noSelection: Selection = { ids: new Set(), anchor: undefined }

export function toggle({ ids }: Selection, id: string): Selection {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return { ids: next, anchor: id }
}

/** Adds everything between the anchor and this task. The anchor stays, so the range can be extended again. */
export function extendTo(selection: Selection, id: string, order: readonly string[]): Selection {
  const from = selection.anchor === undefined ? -1 : order.indexOf(selection.anchor)
  const to = order.indexOf(id)
  if (from === -1 || to === -1) return toggle(selection, id)
  const range = order.slice(Math.min(from, to), Math.max(from, to) + 1)
  return { ids: new Set([...selection.ids, ...range]), anchor: selection.anchor }
}

export const selectAll = (order: readonly string[]): Selection => ({ ids: new Set(order), anchor: order[0] })

/** Place of the focus after a key, or undefined if the key does not move it. */
export function moveFocus(key: string, at: number, { columns, count }: { columns: number; count: number }) {
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at - columns,
    ArrowDown: at + columns,
    PageUp: at - columns * pageRows,
    PageDown: at + columns * pageRows,
    Home: 0,
    End: count - 1,
  }
  const to = moves[key]
  if (to === undefined || count === 0) return undefined
  // Up and down stay in their column at the ends; the other keys stop there.
  if ((key === 'ArrowUp' && to < 0) || (key === 'ArrowDown' && to >= count)) return at
  return Math.min(count - 1, Math.max(0, to))
}

const pageRows = 3
