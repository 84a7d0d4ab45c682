// The first page: one photo, its cut-out at once, and the request as a program.
import { useNavigate } from '@tanstack/react-router'
import type { Progress } from 'matte-client'
import { Suspense, useEffect, useState } from 'react'
import { lazyPart } from '../../app/lazy-part.tsx'
import { useSession, useSessionStore } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { ErrorNote, Skeleton } from '../../ui/states.tsx'
import { Compare } from './compare.tsx'
import { type Effects, noEffects } from './effects.ts'
import styles from './playground.module.css'
import { playgroundText } from './playground-text.ts'
import { SourcePicker } from './source-picker.tsx'
import { canRepeat, type Run, useCutOut } from './use-cut-out.ts'

// Loaded while the first photo is on its way, so the page itself stays light.
const loadResultPanel = () => import('./result-panel.tsx')
const ResultPanel = lazyPart(async () => (await loadResultPanel()).ResultPanel)

const RequestTabs = lazyPart(async () => (await import('./request-tabs.tsx')).RequestTabs)

/** A photo that was chosen before the sign-in, which replaces the page. */
let waiting: { readonly blob: Blob; readonly name: string } | undefined

export function PlaygroundPage() {
  const text = useText(playgroundText)
  const session = useSession()
  const store = useSessionStore()
  const navigate = useNavigate()
  const { run, start, startUploaded, repeat, cancel } = useCutOut()
  const [effects, setEffects] = useState<Effects>(noEffects)
  const isSignedIn = session.kind === 'member' || session.kind === 'key'
  const take = (blob: Blob, name: string): void => {
    void loadResultPanel().catch(() => undefined)
    if (isSignedIn) return void start(blob, name)
    waiting = { blob, name }
    if (session.kind !== 'starting') void navigate({ to: '/sign-in' })
  }
  useEffect(() => {
    if (!isSignedIn || waiting === undefined) return
    const { blob, name } = waiting
    waiting = undefined
    void start(blob, name)
  }, [isSignedIn, start])
  const isStarting = session.kind === 'starting'
  useEffect(() => {
    // A photo that was chosen while the session started leads to the sign-in as soon as there is none.
    return () => {
      if (isStarting && waiting !== undefined && store.get().kind === 'none') void navigate({ to: '/sign-in' })
    }
  }, [isStarting, navigate, store])
  return (
    <Page title={text.title} lede={text.lede}>
      <div className={styles.layout}>
        <div className={styles.main}>
          <SourcePicker
            onPhoto={take}
            onUploaded={(key, name) => void startUploaded(key, name)}
            isSmall={run.state !== 'idle'}
          />
          {run.state === 'idle' ? (
            <Example isSignedIn={isSignedIn} />
          ) : (
            <RunCard run={run} repeat={repeat} cancel={cancel} />
          )}
        </div>
        <Suspense fallback={null}>
          {run.state === 'done' && (
            <ResultPanel cutOut={run.cutOut} name={run.photo.name} effects={effects} onEffects={setEffects} />
          )}
        </Suspense>
      </div>
      <Card title={text.code}>
        <Suspense fallback={<Skeleton lines={5} />}>
          <RequestTabs run={run} effects={effects} />
        </Suspense>
      </Card>
    </Page>
  )
}

function Example({ isSignedIn }: { readonly isSignedIn: boolean }) {
  const text = useText(playgroundText)
  return (
    <Card title={text.example}>
      <Compare
        before="/assets/static/samples/lemur.webp"
        after="/assets/static/samples/lemur-cut-out.webp"
        alt={text.sampleNames.lemur}
      />
      {!isSignedIn && <p className={styles.signIn}>{text.signInFirst}</p>}
    </Card>
  )
}

type RunCardProps = {
  readonly run: Exclude<Run, { readonly state: 'idle' }>
  readonly repeat: (run: Extract<Run, { readonly state: 'failed' }>) => Promise<void>
  readonly cancel: () => void
}

function RunCard({ run, repeat, cancel }: RunCardProps) {
  const text = useText(playgroundText)
  const format = useFormat()
  const { photo } = run
  const result = run.state === 'done' ? run.cutOut.url : undefined
  const before = photo.url ?? result
  return (
    <Card>
      <div className={styles.run}>
        <div className={styles.status} role="status">
          {run.state === 'running' && <RunProgress progress={run.progress} />}
          {run.state === 'done' && <span>{text.took(format.duration(Math.round(run.cutOut.tookMs)))}</span>}
          {run.state === 'running' && (
            <Button size="small" look="quiet" onPress={cancel}>
              {text.cancel}
            </Button>
          )}
        </div>
        {run.state === 'failed' && (
          <ErrorNote error={run.error} onRetry={canRepeat(run.error) ? () => void repeat(run) : undefined} />
        )}
        {run.state === 'done' && run.cutOut.task.foreground === null && <p>{text.nothingFound}</p>}
        {before !== undefined && <Compare before={before} after={result} alt={photo.name} />}
      </div>
    </Card>
  )
}

function RunProgress({ progress: { state, loadedBytes, totalBytes } }: { readonly progress: Progress }) {
  const text = useText(playgroundText)
  const isMeasured = totalBytes !== undefined && (state === 'uploading' || state === 'downloading')
  return (
    <label className={styles.progress}>
      <span>{text.states[state]}</span>
      <progress max={1} {...(isMeasured && { value: loadedBytes / totalBytes })} />
    </label>
  )
}
