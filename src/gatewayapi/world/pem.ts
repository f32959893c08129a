// Checks whether Envoy can load a user's PEM texts; it would NACK the whole listener or cluster for a bad one.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const END = '-----END CERTIFICATE-----'

/** Whether the text has at least one certificate and all of them can be parsed. */
export const isCertificates = (pem: string): boolean => parseCertificates(pem) !== undefined

/** Whether the key belongs to the chain's first certificate and is of a kind that Envoy can serve with. */
export function isServerPair(certificateChain: string, privateKey: string): boolean {
  const [certificate] = parseCertificates(certificateChain) ?? []
  const key = parsePrivateKey(privateKey)
  return key !== undefined && isServerKey(key) && certificate?.checkPrivateKey(key) === true
}

function parseCertificates(pem: string): readonly X509Certificate[] | undefined {
  try {
    const certificates = blocksIn(pem).map((block) => new X509Certificate(block))
    return certificates.length > 0 ? certificates : undefined
  } catch {
    return undefined
  }
}

/** Searches in linear time: in a text of many beginnings a regular expression would look for the end from each. */
function blocksIn(pem: string): readonly string[] {
  const blocks: string[] = []
  for (let from = pem.indexOf(BEGIN); from !== -1;) {
    const end = pem.indexOf(END, from)
    if (end === -1) break
    const to = end + END.length
    blocks.push(pem.slice(from, to))
    from = pem.indexOf(BEGIN, to)
  }
  return blocks
}

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

function isServerKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'rsa') return (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048
  return asymmetricKeyType === 'ec' && CURVES.includes(asymmetricKeyDetails?.namedCurve ?? '')
}
