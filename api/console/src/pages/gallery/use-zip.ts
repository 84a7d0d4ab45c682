import type { Task } from 'matte-client'
import { useEffect, useRef, useState } from 'react'
import type { Service } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { showError, showNote } from '../../ui/toasts.tsx'
import { galleryText } from './gallery-text.ts'

type ZipRequest = {
  readonly service: Service
  readonly tasks: Iterable<Task> | AsyncIterable<Task>
  readonly totalCount: number
  /** Without ending. */
  readonly name: string
  readonly nameOf?: ((task: Task) => string) | undefined
}

export type ZipState = { readonly doneCount: number; readonly totalCount: number }

/** One archive at a time. It stops with the page. */
export function useZip() {
  const text = useText(galleryText)
  const format = useFormat()
  const [state, setState] = useState<ZipState>()
  const current = useRef<AbortController>(undefined)
  useEffect(() => () => current.current?.abort(), [])

  const save = async ({ totalCount, name, ...request }: ZipRequest): Promise<void> => {
    const aborting = new AbortController()
    current.current = aborting
    const { signal } = aborting
    // The code of archives is loaded with the first one.
    const zip = await import('./save-zip.ts').catch(showError)
    if (zip === undefined) return
    setState({ doneCount: 0, totalCount })
    try {
      const onProgress = (doneCount: number): void => setState({ doneCount, totalCount })
      const zipped = await zip.saveZip({ ...request, name: `${name}.zip`, signal, onProgress })
      const missingCount = zipped?.missing.length ?? 0
      if (missingCount > 0) showNote(text.zipMissing(format.number(missingCount)))
      else if (zipped !== undefined) showNote(text.zipped)
    } catch (error) {
      if (error instanceof zip.ZipTooLarge) showError(new Error(text.zipTooLarge(format.bytes(zip.memoryBytesMax))))
      else if (!signal.aborted) showError(error)
    } finally {
      setState(undefined)
    }
  }
  return { state, save, stop: () => current.current?.abort() }
}
