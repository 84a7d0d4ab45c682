import { Page } from '../../ui/page.tsx'

export const LoadPage = () => <Page title="Load">…</Page>
