import { Page } from '../../ui/page.tsx'

export const UsagePage = () => <Page title="Usage">…</Page>
