import { Page } from '../../ui/page.tsx'

export const PlaygroundPage = () => <Page title="Playground">…</Page>
