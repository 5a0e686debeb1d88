# SPDX-License-Identifier: MIT
"""OpenCV's T-API: filters on images in OpenCL's memory."""
import hashlib

import cv2
import numpy

cv2.ocl.setUseOpenCL(True)
print("OpenCL", cv2.ocl.useOpenCL())
picture = numpy.random.RandomState(1).randint(0, 256, (480, 640), numpy.uint8)
image = cv2.UMat(picture)
for turn in range(3):
    blurred = cv2.GaussianBlur(image, (7, 7), 1.5)
    image = cv2.resize(cv2.medianBlur(blurred, 3), (640, 480 + turn))
results = {"dilate": cv2.dilate(image, None), "sobel": cv2.Sobel(image, cv2.CV_8U, 1, 0),
           "threshold": cv2.threshold(image, 128, 255, cv2.THRESH_BINARY)[1],
           "flip": cv2.flip(image, 1), "add": cv2.add(image, image)}
for name, result in results.items():
    print(name, hashlib.md5(result.get().tobytes()).hexdigest())
