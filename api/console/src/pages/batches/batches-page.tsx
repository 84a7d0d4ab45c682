import { Page } from '../../ui/page.tsx'

export const BatchesPage = () => <Page title="Batches">…</Page>
