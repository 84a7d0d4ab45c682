import { useEffect, useRef, useState } from 'react'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { uiText } from '../../ui/ui-text.ts'
import styles from './camera-dialog.module.css'
import { playgroundText } from './playground-text.ts'

type CameraProps = { readonly onClose: () => void; readonly onPhoto: (blob: Blob, name: string) => void }

/** Shows the camera and takes one photo. The camera is off as soon as the dialog is closed. */
export function CameraDialog({ onClose, onPhoto }: CameraProps) {
  const text = useText(playgroundText)
  const ui = useText(uiText)
  const video = useRef<HTMLVideoElement>(null)
  const [isRefused, setIsRefused] = useState(false)
  const [isReady, setIsReady] = useState(false)
  useEffect(() => {
    let stream: MediaStream | undefined
    let isClosed = false
    const open = async (): Promise<void> => {
      stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1_920 } } })
      if (isClosed) return stop(stream)
      if (video.current) video.current.srcObject = stream
    }
    open().catch(() => setIsRefused(true))
    return () => {
      isClosed = true
      if (stream) stop(stream)
    }
  }, [])
  const shoot = async (): Promise<void> => {
    const from = video.current
    if (from === null) return
    const canvas = new OffscreenCanvas(from.videoWidth, from.videoHeight)
    canvas.getContext('2d')?.drawImage(from, 0, 0)
    onPhoto(await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.92 }), 'camera.jpg')
    onClose()
  }
  return (
    <Dialog title={text.cameraTitle} isOpen onClose={onClose}>
      {isRefused ? (
        <p role="alert">{text.cameraRefused}</p>
      ) : (
        <video ref={video} className={styles.video} autoPlay playsInline muted onLoadedData={() => setIsReady(true)} />
      )}
      <DialogActions>
        <Button onPress={onClose}>{ui.cancel}</Button>
        {!isRefused && (
          <Button look="primary" isDisabled={!isReady} onPress={() => void shoot()}>
            {text.cameraShoot}
          </Button>
        )}
      </DialogActions>
    </Dialog>
  )
}

const stop = (stream: MediaStream): void => {
  for (const track of stream.getTracks()) track.stop()
}
