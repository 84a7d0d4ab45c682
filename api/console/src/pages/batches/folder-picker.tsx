// Where a folder comes from: a drop, the dialog of the browser, or an input.
import { useQuery } from '@tanstack/react-query'
import { type DragEvent, useRef, useState } from 'react'
import { settingsQuery } from '../../settings.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { showError } from '../../ui/toasts.tsx'
import styles from './batches.module.css'
import { batchesText } from './batches-text.ts'
import {
  commonFolder,
  type Folder,
  filesMax,
  filesOfDrop,
  filesOfHandle,
  filesOfInput,
  type Photo,
  sortFolder,
  TooManyFiles,
} from './photos.ts'

type DirectoryPicker = (options: { mode: 'read' }) => Promise<FileSystemDirectoryHandle>

type Source = { readonly files: readonly Photo[]; readonly handle?: FileSystemDirectoryHandle | undefined }

/** Reads folders from every source, and reports what goes wrong. */
export function useFolderReader(onFolder: (folder: Folder) => void) {
  const text = useText(batchesText)
  const format = useFormat()
  const { data: settings } = useQuery(settingsQuery)
  const [isReading, setIsReading] = useState(false)
  const [problem, setProblem] = useState<string>()
  const maxBytes = settings?.uploadMaxBytes ?? 20_971_520
  const read = async (source: () => Promise<Source>): Promise<void> => {
    setIsReading(true)
    setProblem(undefined)
    try {
      const { files, handle } = await source()
      const name = commonFolder(files.map(({ path }) => path)) ?? text.photos
      const folder = sortFolder(files, maxBytes, { name, handle })
      if (folder.photos.length > 0) onFolder(folder)
      else if (files.length > 0) setProblem(text.noPhotos)
    } catch (error) {
      if (error instanceof TooManyFiles) setProblem(text.tooMany(format.number(filesMax)))
      else if (!(error instanceof DOMException && error.name === 'AbortError')) showError(error)
    } finally {
      setIsReading(false)
    }
  }
  /** The dialog of the browser gives a handle, which a later visit can read again. */
  const pick = (): boolean => {
    const { showDirectoryPicker } = window as { showDirectoryPicker?: DirectoryPicker }
    if (showDirectoryPicker === undefined) return false
    void read(async () => {
      const handle = await showDirectoryPicker({ mode: 'read' })
      return { files: await filesOfHandle(handle), handle }
    })
    return true
  }
  return { read, pick, isReading, problem, maxBytes, setProblem }
}

export function FolderPicker({ onFolder }: { readonly onFolder: (folder: Folder) => void }) {
  const text = useText(batchesText)
  const format = useFormat()
  const reader = useFolderReader(onFolder)
  const [isOver, setIsOver] = useState(false)
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    setIsOver(false)
    const dropped = filesOfDrop(event.dataTransfer)
    void reader.read(() => dropped)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside do the same by keyboard
    <div
      className={`${styles.zone} ${isOver ? styles.over : ''}`}
      onDragOver={(event) => {
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      <p className={styles.drop}>{reader.isReading ? text.reading : text.drop}</p>
      <div className={styles.buttons}>
        <Button
          look="primary"
          isPending={reader.isReading}
          onPress={() => {
            if (!reader.pick()) folder.current?.click()
          }}
        >
          {text.chooseFolder}
        </Button>
        <Button isPending={reader.isReading} onPress={() => files.current?.click()}>
          {text.chooseFiles}
        </Button>
      </div>
      <FileInput
        inputRef={folder}
        isFolder
        onFiles={(list) => void reader.read(async () => ({ files: filesOfInput(list) }))}
      />
      <FileInput inputRef={files} onFiles={(list) => void reader.read(async () => ({ files: filesOfInput(list) }))} />
      <p className={styles.soft}>{text.limits(format.bytes(reader.maxBytes), format.number(filesMax))}</p>
      {reader.problem !== undefined && (
        <p role="alert" className={styles.problem}>
          {reader.problem}
        </p>
      )}
    </div>
  )
}

type InputProps = {
  readonly inputRef: { readonly current: HTMLInputElement | null }
  readonly isFolder?: boolean
  readonly onFiles: (files: FileList) => void
}

export function FileInput({ inputRef, isFolder = false, onFiles }: InputProps) {
  const text = useText(batchesText)
  return (
    <input
      ref={inputRef}
      type="file"
      multiple
      {...(isFolder && { webkitdirectory: '' })}
      accept={isFolder ? undefined : 'image/jpeg,image/png,image/webp'}
      className="visually-hidden"
      tabIndex={-1}
      aria-label={isFolder ? text.chooseFolder : text.chooseFiles}
      onChange={({ target }) => {
        if (target.files !== null && target.files.length > 0) onFiles(target.files)
        target.value = ''
      }}
    />
  )
}
