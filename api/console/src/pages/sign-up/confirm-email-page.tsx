import { Page } from '../../ui/page.tsx'

export const ConfirmEmailPage = () => <Page title="Confirm email">…</Page>
