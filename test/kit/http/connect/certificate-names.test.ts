// Names in certificates that cannot be read: the certificate fits no policy, and nothing is thrown at the thread.

import type { PeerCertificate } from 'node:tls'
import { expect, test } from 'vitest'
import { checkCertificateNames } from '../../../../src/kit/http/connect/tls-connection.js'

const TLS = { hostname: 'idp.example', authorities: 'System' } as const

const naming = (subjectaltname: string | undefined) =>
  ({ subject: { CN: 'idp.example' }, subjectaltname }) as PeerCertificate

test.each([
  ['a quote without its end', 'DNS:"idp.example'],
  ['a broken escape', 'URI:"spiffe://\\x"'],
  ['no text', 7 as unknown as string],
])('%s', (_case, names) => {
  for (const subjectAltNames of [
    [],
    [{ type: 'URI', value: 'spiffe://idp/one' } as const],
    [{ type: 'Hostname', value: 'idp.example' } as const],
  ])
    expect(checkCertificateNames({ ...TLS, subjectAltNames }, naming(names))).toBeInstanceOf(Error)
})
