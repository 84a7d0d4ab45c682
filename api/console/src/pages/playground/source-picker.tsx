// Where a photo comes from: a file, the clipboard, the camera, a URL or a sample.
import { useQuery } from '@tanstack/react-query'
import { type DragEvent, Suspense, useEffect, useRef, useState } from 'react'
import { lazyPart } from '../../app/lazy-part.tsx'
import { useSession } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { playgroundText } from './playground-text.ts'
import styles from './source-picker.module.css'

const CameraDialog = lazyPart(async () => (await import('./camera-dialog.tsx')).CameraDialog)
const UrlDialog = lazyPart(async () => (await import('./url-dialog.tsx')).UrlDialog)

const samples = ['lemur', 'coffee', 'chelsea', 'astronaut', 'rocket'] as const
const types = ['image/jpeg', 'image/png', 'image/webp']

type PickerProps = {
  readonly onPhoto: (blob: Blob, name: string) => void
  readonly onUploaded: (objectKey: string, name: string) => void
  readonly isSmall: boolean
}

export function SourcePicker({ onPhoto, onUploaded, isSmall }: PickerProps) {
  const text = useText(playgroundText)
  const format = useFormat()
  const { data: settings } = useQuery(settingsQuery)
  const { kind } = useSession()
  const isSignedIn = kind === 'member' || kind === 'key'
  const [isOver, setIsOver] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [dialog, setDialog] = useState<'camera' | 'url'>()
  const input = useRef<HTMLInputElement>(null)
  const maxBytes = settings?.uploadMaxBytes ?? 20_971_520

  const problemOf = ({ type, size }: Blob): string | undefined => {
    if (!types.includes(type)) return text.notAnImage
    return size > maxBytes ? text.tooLarge(format.bytes(maxBytes)) : undefined
  }
  const take = (blob: Blob | undefined, name: string): void => {
    if (blob === undefined) return
    const found = problemOf(blob)
    setProblem(found)
    if (found === undefined) onPhoto(blob, name)
  }
  usePastedImage((file) => take(file, file.name))
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    setIsOver(false)
    const [file] = event.dataTransfer.files
    take(file, file?.name ?? '')
  }
  const takeSample = async (name: (typeof samples)[number]): Promise<void> => {
    setProblem(undefined)
    try {
      take(await fetchSample(name), `${name}.webp`)
    } catch {
      setProblem(text.sampleFailed)
    }
  }

  return (
    <div className={`${styles.picker} ${isSmall ? styles.small : ''}`}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside do the same by keyboard */}
      <div
        className={`${styles.zone} ${isOver ? styles.over : ''}`}
        onDragOver={(event) => {
          event.preventDefault()
          setIsOver(true)
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={onDrop}
      >
        {!isSmall && <p className={styles.drop}>{text.drop}</p>}
        <div className={styles.buttons}>
          <Button look={isSmall ? 'plain' : 'primary'} onPress={() => input.current?.click()}>
            {isSmall ? text.another : text.choose}
          </Button>
          <Button look="quiet" onPress={() => setDialog('camera')}>
            {text.camera}
          </Button>
          {settings?.fetchUrls === true && isSignedIn && (
            <Button look="quiet" onPress={() => setDialog('url')}>
              {text.fromUrl}
            </Button>
          )}
        </div>
        <input
          ref={input}
          type="file"
          accept={types.join(',')}
          className="visually-hidden"
          tabIndex={-1}
          aria-label={text.choose}
          onChange={(event) => {
            const [file] = event.target.files ?? []
            take(file, file?.name ?? '')
            event.target.value = ''
          }}
        />
        {!isSmall && <p className={styles.limits}>{text.limits(format.bytes(maxBytes))}</p>}
        {problem !== undefined && (
          <p role="alert" className={styles.problem}>
            {problem}
          </p>
        )}
      </div>
      <div className={styles.samples}>
        {!isSmall && <p>{text.samples}</p>}
        <ul>
          {samples.map((name) => (
            <li key={name}>
              <button type="button" className={styles.sample} onClick={() => void takeSample(name)}>
                <img
                  src={`/assets/static/samples/${name}-small.webp`}
                  alt={text.sampleNames[name]}
                  width="80"
                  height="60"
                />
              </button>
            </li>
          ))}
        </ul>
      </div>
      <Suspense fallback={null}>
        {dialog === 'camera' && <CameraDialog onClose={() => setDialog(undefined)} onPhoto={take} />}
        {dialog === 'url' && <UrlDialog onClose={() => setDialog(undefined)} onUploaded={onUploaded} />}
      </Suspense>
    </div>
  )
}

/** A file of the page itself, like its script. */
async function fetchSample(name: string): Promise<Blob> {
  const response = await fetch(`/assets/static/samples/${name}.webp`)
  if (!response.ok) throw new Error(`The sample was answered with ${response.status}.`)
  return response.blob()
}

function usePastedImage(onImage: (file: File) => void): void {
  const latest = useRef(onImage)
  latest.current = onImage
  useEffect(() => {
    const onPaste = (event: ClipboardEvent): void => {
      const [file] = event.clipboardData?.files ?? []
      if (file === undefined) return
      event.preventDefault()
      latest.current(file)
    }
    document.addEventListener('paste', onPaste)
    return () => document.removeEventListener('paste', onPaste)
  }, [])
}
